import type { Database } from '../../database/client.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { makeTeamModelChanges } from './changes.ts'
import { makeTeamModelHandlers } from './routes.ts'
import { makeTeamModelStore } from './store.ts'

type Needs = {
  readonly database: Database
  readonly findTeamAdmin: FindTeamAdmin
  readonly clock: Clock
  readonly log: Logger
}

/** What shows and changes the models of teams. */
export type TeamModels = ReturnType<typeof makeTeamModelsFlow>['teamModels']

/** The models that a team may call, and those that its admins add. */
export function makeTeamModelsFlow({ database, findTeamAdmin, clock, log }: Needs) {
  const models = makeTeamModelStore(database)
  const changes = makeTeamModelChanges({ models, clock, log })
  return { handlers: makeTeamModelHandlers({ models, changes, findTeamAdmin }), teamModels: { models, changes } }
}
