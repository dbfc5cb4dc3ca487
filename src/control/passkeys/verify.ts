import type { FinishPasskeyLogin } from '../../../generated/openapi.ts'
import { ApiError } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toEmail } from '../../kernel/email.ts'
import type { Logger } from '../../log.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import { invalidEmail } from '../request-fields.ts'
import type { Challenges } from './challenges.ts'
import { isCounterRegression, maySignIn } from './rules.ts'
import type { PasskeyStore, StoredPasskey } from './store.ts'
import { verifyLogin } from './webauthn.ts'
import type { Webauthn } from './webauthn.ts'

/**
 * Finds the passkey that signed a challenge, and saves the use. Throws the same `unauthorized` for every reason, so
 * that the answer does not tell which passkeys exist.
 */
export type VerifyPasskey = (body: FinishPasskeyLogin, ip: string) => Promise<StoredPasskey>

type Needs = {
  readonly passkeys: PasskeyStore
  readonly challenges: Challenges
  readonly webauthn: Webauthn
  readonly onUnknownCredential: OnUnknownCredential
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the function that verifies a sign-in. It consumes the challenge before it verifies the signature. */
export function makeVerifyPasskey(needs: Needs): VerifyPasskey {
  const { passkeys, challenges, webauthn, onUnknownCredential, clock, log } = needs
  return async ({ credential, email }, ip) => {
    const now = clock.now()
    const refused = new ApiError('unauthorized', { message: 'This passkey does not sign you in.' })
    const consumed = await challenges.consume(credential.response.clientDataJSON)
    const passkey = await passkeys.findByCredential(credential.id)
    if (!consumed || !passkey) {
      onUnknownCredential(ip)
      throw refused
    }
    const claim = { email: readEmail(email), userHandle: credential.response.userHandle ?? null }
    if (!maySignIn(consumed.challenge, passkey, claim, now)) throw refused

    const used = await verifyLogin(webauthn, credential, consumed.secret, passkey)
    if (!used) throw refused
    if (isCounterRegression(passkey.counter, used.counter)) {
      await passkeys.saveRegression(passkey, used.counter, ip, now)
      log.warn({ passkeyId: passkey.id, accountId: passkey.accountId }, 'passkey.counter_regressed')
      throw refused
    }
    if (!(await passkeys.saveUse(passkey, used, now))) throw refused
    return passkey
  }
}

/** The address that a person typed, in the form under which accounts are known; null when none was typed. */
export function readEmail(typed: string | undefined): string | null {
  if (typed === undefined) return null
  const email = toEmail(typed)
  if (!email) throw invalidEmail()
  return email
}
