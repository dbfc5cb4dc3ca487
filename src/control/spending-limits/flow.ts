import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { FindMembership } from '../../directory/members.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { makeSpendingStore } from '../../spending/store.ts'
import type { FindAdminTeam } from '../admin-team.ts'
import { makeTeamLimits } from './changes.ts'
import { makeSpendingLimitHandlers } from './routes.ts'
import { makeLimitStore } from './store.ts'

type Needs = {
  readonly db: PrismaClient
  readonly findAdminTeam: FindAdminTeam
  readonly findMembership: FindMembership
  /** Tells the gateway of this process that limits have changed. */
  readonly onLimitsChanged: () => void
  readonly clock: Clock
  readonly log: Logger
}

/** The spending limits of a team. Pages read and change them with `teamLimits`. */
export function makeSpendingLimitsFlow({ db, findAdminTeam, findMembership, onLimitsChanged, clock, log }: Needs) {
  const [limits, spending] = [makeLimitStore(db), makeSpendingStore(db)]
  const teamLimits = makeTeamLimits({ limits, spending, findMembership, onLimitsChanged, clock, log })
  return { teamLimits, handlers: makeSpendingLimitHandlers({ limits: teamLimits, findAdminTeam }) }
}
