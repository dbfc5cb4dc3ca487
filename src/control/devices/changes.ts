import type { FindEmail } from '../../directory/memberships.ts'
import type { RequestHead } from '../../http/request.ts'
import { actorOf, callerOf } from '../../http/request.ts'
import type { Actor, OnCallerEnd } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { isFresh } from '../fresh.ts'
import type { Notify } from '../mails/notify.ts'
import type { SignOut } from '../tokens/sign-out.ts'
import type { DeviceStore } from './store.ts'

export type SignOutRequest = {
  /** `others` keeps the calling client signed in. */
  readonly scope: 'all' | 'others'
  /** A session that its owner did not begin: passkeys and API keys that were added since are removed too. */
  readonly unknownDevice?: string | undefined
}

/** How many devices and browsers were signed out, passkeys removed and API keys revoked. */
export type SignedOutEverywhere = { readonly devices: number; readonly passkeys: number; readonly apiKeys: number }

/** Signs the caller's devices out, for the API and the device page. */
export type DeviceChanges = {
  /** Signs one out; false when the caller has no signed-in device with this id. */
  signOut(actor: Actor, sessionId: string): Promise<boolean>
  /**
   * Signs the caller's account out everywhere. Removing passkeys needs a fresh sign-in, so that a person who finds an
   * open browser cannot lock its owner out.
   */
  signOutEverywhere(
    req: RequestHead,
    request: SignOutRequest,
  ): Promise<SignedOutEverywhere | 'not_found' | 'reauthenticate'>
}

type Needs = {
  readonly devices: DeviceStore
  readonly signOut: SignOut
  readonly findEmail: FindEmail
  readonly notify: Notify
  readonly onCallerEnd: OnCallerEnd
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the functions. Passkeys that they remove are reported by email. */
export function makeDeviceChanges(needs: Needs): DeviceChanges {
  const { devices, signOut, findEmail, notify, onCallerEnd, clock, log } = needs

  async function notifyRemoved({ accountId, ip }: Actor, names: readonly string[], at: Date): Promise<void> {
    if (names.length === 0) return
    const email = await findEmail(accountId)
    for (const passkeyName of names) notify.passkeyChanged(email, { change: 'removed', passkeyName, at, ip })
  }

  return {
    async signOut(actor, sessionId) {
      const hasEnded = await devices.revoke(actor, sessionId, clock.now())
      if (hasEnded) onCallerEnd(sessionId)
      return hasEnded
    },

    async signOutEverywhere(req, { scope, unknownDevice }) {
      const now = clock.now()
      const { accountId, sessionId } = callerOf(req)
      const actor = actorOf(req)
      if (unknownDevice !== undefined && !isFresh(actor, now)) return 'reauthenticate'
      const addedSince = unknownDevice === undefined ? null : await devices.findFirstSignIn(unknownDevice, accountId)
      if (unknownDevice !== undefined && addedSince === null) return 'not_found'

      const own = scope === 'others' ? [...(await signOut.findCurrent(req)), sessionId] : []
      // A session that the owner of the account did not begin is never kept. Requests may name its id in capitals.
      const kept = own.filter((id) => id !== unknownDevice?.toLowerCase())
      const ended = await devices.revokeAll(actor, { kept, addedSince }, now)
      for (const id of [...ended.devices, ...ended.apiKeys]) onCallerEnd(id)
      const counted = {
        devices: ended.devices.length + ended.browsers,
        passkeys: ended.passkeys.length,
        apiKeys: ended.apiKeys.length,
      }
      log.info({ accountId, scope, ...counted }, 'account.signed_out_everywhere')
      await notifyRemoved(actor, ended.passkeys, now)
      return counted
    },
  }
}
