import type { Database } from '../../database/client.ts'
import type { AdminBackendTrust } from '../../directory/admin-backends.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { makeTeamBackendChanges } from './changes.ts'
import { makeTeamBackendHandlers } from './routes.ts'
import { makeTeamBackendStore } from './store.ts'

type Needs = {
  readonly database: Database
  /** Null: the operator lets admins add none. */
  readonly trust: AdminBackendTrust | null
  readonly findTeamAdmin: FindTeamAdmin
  readonly clock: Clock
  readonly log: Logger
}

/** What shows and changes the backends of teams. */
export type TeamBackends = ReturnType<typeof makeTeamBackendsFlow>['teamBackends']

/** The backends that admins of a team add. */
export function makeTeamBackendsFlow({ database, trust, findTeamAdmin, clock, log }: Needs) {
  const backends = makeTeamBackendStore(database)
  const changes = makeTeamBackendChanges({ backends, trust, clock, log })
  return {
    handlers: makeTeamBackendHandlers({ backends, changes, trust, findTeamAdmin }),
    teamBackends: { backends, changes, trust },
  }
}
