import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { cleanDeviceName } from '../devices/device-name.ts'
import { isFresh } from '../fresh.ts'
import type { Notify } from '../mails/notify.ts'
import type { ListedPasskey, PasskeyStore } from './store.ts'

/** Changes the caller's own passkeys. Refusals are values, because the API and the page answer them differently. */
export type PasskeyChanges = {
  rename(caller: Caller, id: string, name: string, ip: string): Promise<ListedPasskey | 'invalid_name' | 'not_found'>
  /** Needs a fresh sign-in, so that a person who finds an open browser cannot lock its owner out. */
  remove(caller: Caller, id: string, ip: string): Promise<'deleted' | 'not_found' | 'reauthenticate'>
}

type Needs = { readonly passkeys: PasskeyStore; readonly notify: Notify; readonly clock: Clock }

/** Makes the changes that the API and the device page share. */
export function makePasskeyChanges({ passkeys, notify, clock }: Needs): PasskeyChanges {
  return {
    async rename({ accountId }, id, name, ip) {
      const clean = cleanDeviceName(name)
      if (clean === null) return 'invalid_name'
      return (await passkeys.rename({ id, accountId }, clean, ip, clock.now())) ?? 'not_found'
    },

    async remove(caller, id, ip) {
      const now = clock.now()
      if (!isFresh(caller, now)) return 'reauthenticate'
      const removed = await passkeys.remove(id, caller.accountId, ip, now)
      if (!removed) return 'not_found'
      notify.passkeyChanged(removed.email, { change: 'removed', passkeyName: removed.name, at: now, ip })
      return 'deleted'
    },
  }
}
