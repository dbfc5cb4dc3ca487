import type { Actor } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { cleanName } from '../../kernel/formats/clean-name.ts'
import { isFresh } from '../fresh.ts'
import type { Notify } from '../mails/notify.ts'
import type { ListedPasskey, PasskeyStore } from './store.ts'

/** Changes the caller's own passkeys. Refusals are values, because the API and the page answer them differently. */
export type PasskeyChanges = {
  rename(owner: Actor, id: string, name: string): Promise<ListedPasskey | 'invalid_name' | 'not_found'>
  /** Needs a fresh sign-in, so that a person who finds an open browser cannot lock its owner out. */
  remove(owner: Actor, id: string): Promise<'deleted' | 'not_found' | 'reauthenticate'>
}

type Needs = { readonly passkeys: PasskeyStore; readonly notify: Notify; readonly clock: Clock }

/** Makes the changes that the API and the device page share. */
export function makePasskeyChanges({ passkeys, notify, clock }: Needs): PasskeyChanges {
  return {
    async rename(owner, id, name) {
      const clean = cleanName(name)
      if (clean === null) return 'invalid_name'
      return (await passkeys.rename(owner, id, clean, clock.now())) ?? 'not_found'
    },

    async remove(owner, id) {
      const now = clock.now()
      if (!isFresh(owner, now)) return 'reauthenticate'
      const removed = await passkeys.remove(owner, id, now)
      if (!removed) return 'not_found'
      notify.passkeyChanged(removed.email, { change: 'removed', passkeyName: removed.name, at: now, ip: owner.ip })
      return 'deleted'
    },
  }
}
