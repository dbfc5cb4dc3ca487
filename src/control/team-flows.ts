import type { MembershipStore } from '../directory/memberships.ts'
import { makeAuditHandlers } from './audit/routes.ts'
import { makeAuditStore } from './audit/store.ts'
import { makeDirectoryPlanHandlers } from './directory-plan/routes.ts'
import { makeDirectoryPlanStore } from './directory-plan/store.ts'
import type { InvitationMails } from './invitations/announce.ts'
import { makeInvitationsFlow } from './invitations/flow.ts'
import { makeMemberChanges } from './members/changes.ts'
import { makeMemberHandlers } from './members/routes.ts'
import { makeTeamMemberStore } from './members/store.ts'
import type { ControlNeeds } from './needs.ts'
import { makeSpendingLimitsFlow } from './spending-limits/flow.ts'
import { makeFindTeamAdmin } from './team-access.ts'
import { makeTeamBackendsFlow } from './team-backends/flow.ts'
import { makeTeamDevicesFlow } from './team-devices/flow.ts'
import { makeTeamModelsFlow } from './team-models/flow.ts'
import { makeTeamHandlers } from './team/routes.ts'
import { makeUsageHandlers } from './usage/routes.ts'

type Shared = 'database' | 'notify' | 'adminBackends' | 'onCallerEnd' | 'onLimitsChanged' | 'clock' | 'log'

type Needs = Pick<ControlNeeds, Shared> & {
  readonly memberships: Pick<MembershipStore, 'findMembership'>
  readonly mails: InvitationMails
  readonly gatewayUrl: string
}

/** What a team shows to its members, and what its admins see and change. The API and the console use the same flows. */
export function makeTeamFlows(needs: Needs) {
  const { database, gatewayUrl, adminBackends: trust, onCallerEnd, onLimitsChanged, clock, log } = needs
  const { findMembership } = needs.memberships
  const findTeamAdmin = makeFindTeamAdmin(findMembership)
  const teamMembers = makeTeamMemberStore(database)
  const memberChanges = makeMemberChanges({ members: teamMembers, onCallerEnd, clock, log })
  const { invite, announce, resend, ...invitations } = makeInvitationsFlow({
    ...needs,
    memberChanges,
    findTeamAdmin,
  })
  const { teamDevices, ...devices } = makeTeamDevicesFlow({ database, findTeamAdmin, onCallerEnd, clock })
  const audit = makeAuditStore(database)
  const { teamModels, ...models } = makeTeamModelsFlow({ database, findTeamAdmin, clock, log })
  const { teamBackends, ...backends } = makeTeamBackendsFlow({ database, trust, findTeamAdmin, clock, log })
  const directory = makeDirectoryPlanStore(database)
  const { teamLimits, ...limits } = makeSpendingLimitsFlow({ database, findTeamAdmin, onLimitsChanged, clock, log })
  const handlers = {
    ...invitations.handlers,
    ...devices.handlers,
    ...makeMemberHandlers({ members: teamMembers, changes: memberChanges, findTeamAdmin, clock }),
    ...makeAuditHandlers({ audit, findTeamAdmin }),
    ...models.handlers,
    ...backends.handlers,
    ...makeDirectoryPlanHandlers({ directory, findTeamAdmin, announce, onCallerEnd, clock, log }),
    ...limits.handlers,
    ...makeTeamHandlers({ findMembership, gatewayUrl }),
    ...makeUsageHandlers({ database, findTeamAdmin, clock }),
  }
  return {
    handlers,
    teamMembers,
    memberChanges,
    invite,
    resend,
    teamDevices,
    audit,
    teamModels,
    teamBackends,
    teamLimits,
  }
}
