import type { PrismaClient } from '../../generated/prisma/client.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import type { FindAdminTeam } from './admin-team.ts'
import { makeAuditHandlers } from './audit/routes.ts'
import { makeAuditStore } from './audit/store.ts'
import { makeDirectoryPlanHandlers } from './directory-plan/routes.ts'
import { makeDirectoryPlanStore } from './directory-plan/store.ts'
import type { AnnounceInvitation } from './invitations/announce.ts'
import { makeInvitationHandlers } from './invitations/routes.ts'
import { makeMemberChanges } from './members/changes.ts'
import { makeMemberHandlers } from './members/routes.ts'
import { makeTeamMemberStore } from './members/store.ts'
import { makeTeamModelHandlers } from './team-models/routes.ts'
import { makeTeamModelStore } from './team-models/store.ts'

type Needs = {
  readonly db: PrismaClient
  readonly findAdminTeam: FindAdminTeam
  readonly announce: AnnounceInvitation
  /** Tells the gateway of this process that a device session or an API key has ended. */
  readonly onSessionEnd: (id: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/** What the admins of a team change: invitations, members and models; and the audit events that they read. */
export function makeTeamAdminFlows({ db, findAdminTeam, announce, onSessionEnd, clock, log }: Needs) {
  const teamMembers = makeTeamMemberStore(db)
  const memberChanges = makeMemberChanges({ members: teamMembers, onSessionEnd, clock, log })
  const audit = makeAuditStore(db)
  const teamModels = makeTeamModelStore(db)
  const directory = makeDirectoryPlanStore(db)
  const handlers = {
    ...makeInvitationHandlers({ db, members: teamMembers, findAdminTeam, announce, onSessionEnd, clock, log }),
    ...makeMemberHandlers({ members: teamMembers, changes: memberChanges, findAdminTeam, clock }),
    ...makeAuditHandlers({ audit, findAdminTeam }),
    ...makeTeamModelHandlers({ models: teamModels, findAdminTeam, clock, log }),
    ...makeDirectoryPlanHandlers({ directory, findAdminTeam, announce, onSessionEnd, clock, log }),
  }
  return { handlers, teamMembers, memberChanges, audit, teamModels }
}
