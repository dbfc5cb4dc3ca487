import { addSeconds } from '../../kernel/clock.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret } from '../../kernel/secret.ts'
import type { Secret } from '../../kernel/secret.ts'
import { CHALLENGE_SECONDS } from './rules.ts'
import type { Challenge } from './rules.ts'
import type { PasskeyStore } from './store.ts'
import { readChallenge } from './webauthn.ts'

/** The challenges of ceremonies: saved when a ceremony starts, consumed when it finishes. */
export type Challenges = {
  save(secret: Secret, request: Omit<Challenge, 'expiresAt'>): Promise<void>
  /** The challenge that a browser answered, with its secret; null when it is not known or was consumed before. */
  consume(clientDataJson: string): Promise<{ challenge: Challenge; secret: Secret } | null>
}

/** Makes the challenges, of which only hashes are saved. */
export function makeChallenges({
  passkeys,
  clock,
}: {
  readonly passkeys: PasskeyStore
  readonly clock: Clock
}): Challenges {
  return {
    async save(secret, request) {
      const now = clock.now()
      const challenge = { ...request, expiresAt: addSeconds(now, CHALLENGE_SECONDS) }
      await passkeys.saveChallenge(hashSecret(secret), challenge, now)
    },
    async consume(clientDataJson) {
      const secret = readChallenge(clientDataJson)
      const challenge = secret && (await passkeys.consumeChallenge(hashSecret(secret)))
      return secret && challenge && { challenge, secret }
    },
  }
}
