import type { MemberStore } from '../directory/members.ts'
import { makeSpendingLimitsFlow } from './spending-limits/flow.ts'
import { makeFindAdminTeam } from './team-access.ts'
import { makeTeamAdminFlows } from './team-admin-flows.ts'
import type { TeamAdminNeeds } from './team-admin-flows.ts'
import { makeTeamHandlers } from './team/routes.ts'
import { makeUsageHandlers } from './usage/routes.ts'

type Needs = Omit<TeamAdminNeeds, 'findAdminTeam' | 'findEmail'> & {
  readonly members: Pick<MemberStore, 'findMembership' | 'findEmail'>
  readonly gatewayUrl: string
  /** Tells the gateway of this process that spending limits have changed. */
  readonly onLimitsChanged: () => void
}

/** What a team shows to its members, and what its admins see and change. The API and the console use the same flows. */
export function makeTeamFlows(needs: Needs) {
  const { database, members, gatewayUrl, onLimitsChanged, clock, log } = needs
  const { findMembership, findEmail } = members
  const findAdminTeam = makeFindAdminTeam(findMembership)
  const limits = makeSpendingLimitsFlow({ database, findAdminTeam, findMembership, onLimitsChanged, clock, log })
  const admin = makeTeamAdminFlows({ ...needs, findAdminTeam, findEmail })
  const handlers = {
    ...admin.handlers,
    ...limits.handlers,
    ...makeTeamHandlers({ findMembership, gatewayUrl }),
    ...makeUsageHandlers({ database, findMembership, clock }),
  }
  return { ...admin, teamLimits: limits.teamLimits, handlers }
}
