import type { Database } from '../../database/client.ts'
import { addSeconds } from '../../kernel/clock.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret } from '../../kernel/secret.ts'
import type { Secret } from '../../kernel/secret.ts'
import { CHALLENGE_SECONDS } from './rules.ts'
import type { Challenge } from './rules.ts'
import { readChallenge } from './webauthn.ts'

/** The challenges of ceremonies: saved when a ceremony starts, consumed when it finishes. */
export type Challenges = {
  save(secret: Secret, request: Omit<Challenge, 'expiresAt'>): Promise<void>
  /**
   * Deletes the challenge that a browser answered and returns it with its secret, to exactly one caller, before the
   * answer is verified. Null when it is not known or was consumed before.
   */
  consume(clientDataJson: string): Promise<{ challenge: Challenge; secret: Secret } | null>
}

type Needs = { readonly database: Pick<Database, 'prisma'>; readonly clock: Clock }

/** Makes the challenges, of which only hashes are saved. */
export function makeChallenges({ database: { prisma: db }, clock }: Needs): Challenges {
  return {
    async save(secret, request) {
      const createdAt = clock.now()
      const expiresAt = addSeconds(createdAt, CHALLENGE_SECONDS)
      await db.webauthnChallenge.create({ data: { ...request, hash: hashSecret(secret), createdAt, expiresAt } })
    },
    async consume(clientDataJson) {
      const secret = readChallenge(clientDataJson)
      if (!secret) return null
      const hash = hashSecret(secret)
      const challenge = await db.webauthnChallenge.findUnique({ where: { hash } })
      const { count } = await db.webauthnChallenge.deleteMany({ where: { hash } })
      return challenge && count === 1 ? { challenge, secret } : null
    },
  }
}
