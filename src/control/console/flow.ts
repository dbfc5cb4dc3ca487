import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { MemberStore } from '../../directory/members.ts'
import type { Clock } from '../../kernel/clock.ts'
import { makeAgentSessionStore } from '../agent-sessions/store.ts'
import type { makeKeyFlows } from '../key-flows.ts'
import type { makeTeamFlows } from '../team-flows.ts'
import { makeUsageStore } from '../usage/store.ts'
import { makeAdminPageHandlers } from './admin-routes.ts'
import { makeDeviceForms } from './device-forms.ts'
import { makeKeyForms } from './key-forms.ts'
import { makeMemberForms } from './member-forms.ts'
import { makeFindOverview } from './overview.ts'
import { makeTeamPageHandlers } from './routes.ts'
import { makeConsoleStore } from './store.ts'
import { makeFindUsage } from './usage.ts'
import { makeFindViewer, onlyAdmins } from './viewer.ts'

type Needs = {
  readonly db: PrismaClient
  readonly members: MemberStore
  /** What the API of a team does; the forms of the pages do the same. */
  readonly team: Omit<ReturnType<typeof makeTeamFlows>, 'handlers'>
  readonly apiKeys: Omit<ReturnType<typeof makeKeyFlows>, 'handlers'>
  readonly clock: Clock
}

/** The pages of a team: what it uses, and what its admins decide. They work without a script. */
export function makeConsoleFlow({ db, members, team, apiKeys, clock }: Needs) {
  const usage = makeUsageStore(db)
  const store = makeConsoleStore(db)
  const findViewer = makeFindViewer({ members })
  const { teamMembers, memberChanges, invite, teamDevices, teamModels, audit } = team
  return {
    handlers: {
      ...makeTeamPageHandlers({
        findViewer,
        findOverview: makeFindOverview({ usage, store, clock }),
        findUsage: makeFindUsage({ usage, clock }),
        sessions: makeAgentSessionStore(db),
        models: teamModels,
        clock,
      }),
      ...makeAdminPageHandlers({
        findAdmin: onlyAdmins(findViewer),
        members: makeMemberForms({ members: teamMembers, changes: memberChanges, invite, clock }),
        devices: makeDeviceForms({ devices: teamDevices }),
        keys: makeKeyForms({ ...apiKeys, clock }),
        audit,
      }),
    },
  }
}
