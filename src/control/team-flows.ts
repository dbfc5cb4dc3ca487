import type { PrismaClient } from '../../generated/prisma/client.ts'
import type { MemberStore } from '../directory/members.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import { makeFindAdminTeam } from './admin-team.ts'
import { makeAuditHandlers } from './audit/routes.ts'
import { makeAuditStore } from './audit/store.ts'
import { makeInvitationsFlow } from './invitations/flow.ts'
import { makeMemberChanges } from './members/changes.ts'
import { makeMemberHandlers } from './members/routes.ts'
import { makeTeamMemberStore } from './members/store.ts'
import type { Notify } from './notify.ts'
import { makeTeamDevicesFlow } from './team-devices/flow.ts'
import { makeTeamModelHandlers } from './team-models/routes.ts'
import { makeTeamModelStore } from './team-models/store.ts'
import { makeTeamHandlers } from './teams/routes.ts'
import { makeUsageHandlers } from './usage/routes.ts'

type Needs = {
  readonly db: PrismaClient
  readonly members: Pick<MemberStore, 'findMembership' | 'findEmail'>
  readonly notify: Notify
  /** Whether the service can send email. */
  readonly hasEmail: boolean
  /** Emails to one address. */
  readonly mails: RateLimit
  readonly gatewayUrl: string
  /** Tells the gateway of this process that a device session or an API key has ended. */
  readonly onSessionEnd: (id: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/** What a team shows to its members, and what its admins see and change. Pages show the same with these parts. */
export function makeTeamFlows({ db, members, notify, hasEmail, mails, gatewayUrl, onSessionEnd, clock, log }: Needs) {
  const { findMembership, findEmail } = members
  const findAdminTeam = makeFindAdminTeam(findMembership)
  const teamMembers = makeTeamMemberStore(db)
  const memberChanges = makeMemberChanges({ members: teamMembers, onSessionEnd, clock, log })
  const audit = makeAuditStore(db)
  const invitations = makeInvitationsFlow({
    db,
    members: teamMembers,
    findAdminTeam,
    findEmail,
    notify,
    hasEmail,
    mails,
    onSessionEnd,
    clock,
    log,
  })
  const devices = makeTeamDevicesFlow({ db, findAdminTeam, onSessionEnd, clock })
  const teamModels = makeTeamModelStore(db)
  const handlers = {
    ...invitations.handlers,
    ...devices.handlers,
    ...makeMemberHandlers({ members: teamMembers, changes: memberChanges, findAdminTeam, clock }),
    ...makeAuditHandlers({ audit, findAdminTeam }),
    ...makeTeamModelHandlers({ models: teamModels, findAdminTeam, clock, log }),
    ...makeTeamHandlers({ findMembership, gatewayUrl }),
    ...makeUsageHandlers({ db, findMembership, clock }),
  }
  const { invite } = invitations
  const { teamDevices } = devices
  return { handlers, teamMembers, memberChanges, invite, teamDevices, audit, teamModels }
}
