import type { Database } from '../database/client.ts'
import type { AdminBackendTrust } from '../directory/admin-backends.ts'
import type { MemberStore } from '../directory/members.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import type { InvitationMails } from './invitations/announce.ts'
import type { Notify } from './mails/notify.ts'
import { makeSpendingLimitsFlow } from './spending-limits/flow.ts'
import { makeFindAdminTeam } from './team-access.ts'
import { makeTeamAdminFlows } from './team-admin-flows.ts'
import { makeTeamHandlers } from './team.ts'
import { makeUsageHandlers } from './usage/routes.ts'

type Needs = {
  readonly database: Database
  readonly members: Pick<MemberStore, 'findMembership' | 'findEmail'>
  readonly notify: Notify
  /** Whether the service can send email. */
  readonly hasEmail: boolean
  readonly mails: InvitationMails
  /** Null: the operator lets admins add no backends. */
  readonly adminBackends: AdminBackendTrust | null
  readonly gatewayUrl: string
  /** Tells the gateway of this process that a device session or an API key has ended. */
  readonly onSessionEnd: (id: string) => void
  /** Tells the gateway of this process that spending limits have changed. */
  readonly onLimitsChanged: () => void
  readonly clock: Clock
  readonly log: Logger
}

/** What a team shows to its members, and what its admins see and change. The API and the console use the same flows. */
export function makeTeamFlows(needs: Needs) {
  const { database, members, notify, hasEmail, mails, adminBackends, gatewayUrl } = needs
  const { onSessionEnd, onLimitsChanged, clock, log } = needs
  const { findMembership, findEmail } = members
  const findAdminTeam = makeFindAdminTeam(findMembership)
  const limits = makeSpendingLimitsFlow({ database, findAdminTeam, findMembership, onLimitsChanged, clock, log })
  const admin = makeTeamAdminFlows({
    database,
    findAdminTeam,
    findEmail,
    notify,
    hasEmail,
    mails,
    adminBackends,
    onSessionEnd,
    clock,
    log,
  })
  const handlers = {
    ...admin.handlers,
    ...limits.handlers,
    ...makeTeamHandlers({ findMembership, gatewayUrl }),
    ...makeUsageHandlers({ database, findMembership, clock }),
  }
  return { ...admin, teamLimits: limits.teamLimits, handlers }
}
