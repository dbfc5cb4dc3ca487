import type { FinishPasskeyRegistration, PasskeyCreationOptions } from '../../../generated/openapi.ts'
import { ApiError } from '../../http/errors.ts'
import type { Actor } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { cleanName } from '../../kernel/formats/clean-name.ts'
import { toUtcText } from '../../kernel/formats/utc-text.ts'
import type { Logger } from '../../log.ts'
import { isFresh } from '../fresh.ts'
import type { Notify } from '../mails/notify.ts'
import { invalidName } from '../request-fields.ts'
import type { Challenges } from './challenges.ts'
import { MAX_PASSKEYS, mayRegister } from './rules.ts'
import type { ListedPasskey, PasskeyStore } from './store.ts'
import { makeRegistrationOptions, verifyRegistration } from './webauthn.ts'
import type { Webauthn } from './webauthn.ts'

/** Adds a passkey to the caller's account. */
export type PasskeyRegistration = {
  /**
   * Options for the browser. Throws `reauthenticate` without a fresh sign-in, and `conflict` when the account is full.
   */
  start(owner: Actor): Promise<PasskeyCreationOptions>
  /** Saves the passkey that the browser made. Throws `invalid_request`, `unauthorized` and `conflict`. */
  finish(owner: Actor, body: FinishPasskeyRegistration): Promise<ListedPasskey>
}

type Needs = {
  readonly passkeys: PasskeyStore
  readonly challenges: Challenges
  readonly webauthn: Webauthn
  readonly notify: Notify
  readonly clock: Clock
  readonly log: Logger
}

const FULL = { message: `An account can have ${MAX_PASSKEYS} passkeys. Delete one first.` }

/** Makes both halves of the registration ceremony. */
export function makePasskeyRegistration(needs: Needs): PasskeyRegistration {
  const { passkeys, challenges, webauthn, notify, clock, log } = needs
  return {
    async start(owner) {
      if (!isFresh(owner, clock.now())) throw new ApiError('reauthenticate')
      const { accountId, sessionId } = owner
      const own = await passkeys.list(accountId)
      if (own.length >= MAX_PASSKEYS) throw new ApiError('conflict', FULL)
      const account = await passkeys.findAccount(accountId)
      const { options, challenge } = await makeRegistrationOptions(webauthn.rpId, account, own)
      await challenges.save(challenge, { ceremony: 'registration', accountId, sessionId, email: null })
      return options
    },

    async finish(owner, { credential, name: given }) {
      const now = clock.now()
      const { accountId, ip } = owner
      const name = given === undefined ? defaultName(now) : cleanName(given)
      if (!name) throw invalidName()
      const consumed = await challenges.consume(credential.response.clientDataJSON)
      const made =
        consumed && mayRegister(consumed.challenge, owner, now)
          ? await verifyRegistration(webauthn, credential, consumed.secret)
          : null
      if (!made) throw new ApiError('unauthorized', { message: 'This passkey was not made for this session.' })

      const added = await passkeys.add(owner, made, name, now)
      if (added === 'taken') throw new ApiError('conflict', { message: 'This passkey is registered already.' })
      if (added === 'full') throw new ApiError('conflict', FULL)
      const { email } = await passkeys.findAccount(accountId)
      notify.passkeyChanged(email, { change: 'added', passkeyName: name, at: now, ip })
      log.info({ passkeyId: added.id, accountId }, 'passkey.added')
      return added
    },
  }
}

/** `Passkey of 21 Nov 2026, 02:15 UTC`: with the time, so that two of one day can be told apart. */
function defaultName(now: Date): string {
  return `Passkey of ${toUtcText(now)}`
}
