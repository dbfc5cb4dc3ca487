import type { Database } from '../../database/client.ts'
import type { OnCallerEnd } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { makeTeamDevices } from './changes.ts'
import { makeTeamDeviceHandlers } from './routes.ts'
import { makeTeamDeviceStore } from './store.ts'

type Needs = {
  readonly database: Database
  readonly findTeamAdmin: FindTeamAdmin
  readonly onCallerEnd: OnCallerEnd
  readonly clock: Clock
}

/**
 * The devices and browsers that are signed in to a team. Its admins see whose they are and when they were last used,
 * and can sign one out. The person can sign in again; an admin who wants to prevent that removes the member.
 */
export function makeTeamDevicesFlow({ database, findTeamAdmin, onCallerEnd, clock }: Needs) {
  const teamDevices = makeTeamDevices({ store: makeTeamDeviceStore(database), onCallerEnd, clock })
  return { teamDevices, handlers: makeTeamDeviceHandlers({ devices: teamDevices, findTeamAdmin }) }
}
