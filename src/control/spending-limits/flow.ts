import type { Database } from '../../database/client.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { makeSpendingStore } from '../../spending/store.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { makeTeamLimits } from './changes.ts'
import { makeSpendingLimitHandlers } from './routes.ts'
import { makeLimitStore } from './store.ts'

type Needs = {
  readonly database: Database
  readonly findTeamAdmin: FindTeamAdmin
  /** Tells the gateway of this process that limits have changed. */
  readonly onLimitsChanged: () => void
  readonly clock: Clock
  readonly log: Logger
}

/** The spending limits of a team. Pages read and change them with `teamLimits`. */
export function makeSpendingLimitsFlow(needs: Needs) {
  const { database, findTeamAdmin, onLimitsChanged, clock, log } = needs
  const [limits, spending] = [makeLimitStore(database), makeSpendingStore(database)]
  const teamLimits = makeTeamLimits({ limits, spending, onLimitsChanged, clock, log })
  return { teamLimits, handlers: makeSpendingLimitHandlers({ limits: teamLimits, findTeamAdmin }) }
}
