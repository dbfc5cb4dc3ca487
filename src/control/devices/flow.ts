import type { Database } from '../../database/client.ts'
import type { FindEmail } from '../../directory/memberships.ts'
import type { OnCallerEnd } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { Notify } from '../mails/notify.ts'
import type { SignOut } from '../tokens/sign-out.ts'
import { makeDeviceChanges } from './changes.ts'
import { makeDevicesHandlers } from './routes.ts'
import { makeDeviceStore } from './store.ts'

type Needs = {
  readonly database: Database
  readonly signOut: SignOut
  readonly findEmail: FindEmail
  readonly notify: Notify
  readonly onCallerEnd: OnCallerEnd
  readonly clock: Clock
  readonly log: Logger
}

/** The caller's own devices: list them, sign one out, sign out everywhere. */
export function makeDevicesFlow(needs: Needs) {
  const { database, signOut, findEmail, notify, onCallerEnd, clock, log } = needs
  const devices = makeDeviceStore(database)
  const changes = makeDeviceChanges({ devices, signOut, findEmail, notify, onCallerEnd, clock, log })
  return { changes, handlers: makeDevicesHandlers({ devices, changes, signOut, clock }) }
}
