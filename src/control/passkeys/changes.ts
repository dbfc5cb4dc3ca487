import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { cleanDeviceName } from '../../kernel/device-name.ts'
import type { Notify } from '../notify.ts'
import { isFresh } from './rules.ts'
import type { ListedPasskey, PasskeyStore } from './store.ts'

/** Changing the caller's own passkeys. What is refused is said in a word. */
export type PasskeyChanges = {
  rename(caller: Caller, id: string, name: string): Promise<ListedPasskey | 'invalid_name' | 'not_found'>
  /** Needs a fresh sign-in: who finds an open browser must not lock its owner out. */
  remove(caller: Caller, id: string, ip: string): Promise<'deleted' | 'not_found' | 'reauthenticate'>
}

type Needs = { readonly passkeys: PasskeyStore; readonly notify: Notify; readonly clock: Clock }

export function passkeyChanges({ passkeys, notify, clock }: Needs): PasskeyChanges {
  return {
    async rename({ accountId }, id, name) {
      const clean = cleanDeviceName(name)
      if (clean === null) return 'invalid_name'
      return (await passkeys.rename(id, accountId, clean)) ?? 'not_found'
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
