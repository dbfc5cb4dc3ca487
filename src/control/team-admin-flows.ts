import type { Database } from '../database/client.ts'
import type { AdminBackendTrust } from '../directory/admin-backends.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import { makeAuditHandlers } from './audit/routes.ts'
import { makeAuditStore } from './audit/store.ts'
import { makeDirectoryPlanHandlers } from './directory-plan/routes.ts'
import { makeDirectoryPlanStore } from './directory-plan/store.ts'
import type { InvitationMails } from './invitations/announce.ts'
import { makeInvitationsFlow } from './invitations/flow.ts'
import type { Notify } from './mails/notify.ts'
import { makeMemberChanges } from './members/changes.ts'
import { makeMemberHandlers } from './members/routes.ts'
import { makeTeamMemberStore } from './members/store.ts'
import type { FindAdminTeam } from './team-access.ts'
import { makeTeamBackendsFlow } from './team-backends/flow.ts'
import { makeTeamDevicesFlow } from './team-devices/flow.ts'
import { makeTeamModelHandlers } from './team-models/routes.ts'
import { makeTeamModelStore } from './team-models/store.ts'

export type TeamAdminNeeds = {
  readonly database: Database
  readonly findAdminTeam: FindAdminTeam
  readonly findEmail: (accountId: string) => Promise<string>
  readonly notify: Notify
  readonly mails: InvitationMails
  /** Null: the operator lets admins add no backends. */
  readonly adminBackends: AdminBackendTrust | null
  /** Tells the gateway of this process that a device session or an API key has ended. */
  readonly onSessionEnd: (id: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/** What the admins of a team see and change. The API and the console use the same flows. */
export function makeTeamAdminFlows(needs: TeamAdminNeeds) {
  const { database, findAdminTeam, adminBackends: trust, onSessionEnd, clock, log } = needs
  const teamMembers = makeTeamMemberStore(database)
  const memberChanges = makeMemberChanges({ members: teamMembers, onSessionEnd, clock, log })
  const { invite, announce, ...invitations } = makeInvitationsFlow({ ...needs, members: memberChanges })
  const { teamDevices, ...devices } = makeTeamDevicesFlow({ database, findAdminTeam, onSessionEnd, clock })
  const audit = makeAuditStore(database)
  const teamModels = makeTeamModelStore(database)
  const backends = makeTeamBackendsFlow({ database, trust, findAdminTeam, clock, log })
  const directory = makeDirectoryPlanStore(database)
  const handlers = {
    ...invitations.handlers,
    ...devices.handlers,
    ...makeMemberHandlers({ members: teamMembers, changes: memberChanges, findAdminTeam, clock }),
    ...makeAuditHandlers({ audit, findAdminTeam }),
    ...makeTeamModelHandlers({ models: teamModels, findAdminTeam, clock, log }),
    ...backends.handlers,
    ...makeDirectoryPlanHandlers({ directory, findAdminTeam, announce, onSessionEnd, clock, log }),
  }
  return {
    handlers,
    teamMembers,
    memberChanges,
    invite,
    teamDevices,
    audit,
    teamModels,
    teamBackends: backends.teamBackends,
  }
}
