import type { Database } from '../../database/client.ts'
import type { MembershipStore } from '../../directory/memberships.ts'
import type { Clock } from '../../kernel/clock.ts'
import { makeAgentSessionStore } from '../agent-sessions/store.ts'
import type { makeKeyFlows } from '../key-flows.ts'
import type { makeTeamFlows } from '../team-flows.ts'
import { makeUsageStore } from '../usage/store.ts'
import { makeAdminPageHandlers } from './admin-routes.ts'
import { makeDeviceForms } from './devices/device-forms.ts'
import { makeTeamKeyForms } from './keys/key-forms.ts'
import { makeFindLimitChoices, makeFindLimits } from './limits/find-limits.ts'
import { makeLimitForms } from './limits/limit-forms.ts'
import { makeMemberForms } from './members/member-forms.ts'
import { makeModelForms } from './models/model-forms.ts'
import { makeFindOverview } from './overview/find-overview.ts'
import { makeTeamPageHandlers } from './routes.ts'
import { makeConsoleStore } from './store.ts'
import { makeUsagePageHandlers } from './usage/routes.ts'
import { makeFindViewer, onlyAdmins } from './viewer.ts'

type Needs = {
  readonly database: Database
  readonly memberships: MembershipStore
  /** What the API of a team does; the forms of the pages do the same. */
  readonly team: Omit<ReturnType<typeof makeTeamFlows>, 'handlers'>
  readonly apiKeys: Omit<ReturnType<typeof makeKeyFlows>, 'handlers'>
  readonly clock: Clock
}

/** The pages of a team: what it uses, and what its admins decide. They work without a script. */
export function makeConsoleFlow({ database, memberships, team, apiKeys, clock }: Needs) {
  const usage = makeUsageStore(database)
  const store = makeConsoleStore(database)
  const findViewer = makeFindViewer({ memberships })
  const { teamMembers, memberChanges, invite, resend, teamDevices, teamModels, teamBackends, teamLimits, audit } = team
  const models = makeModelForms({ teamModels, teamBackends, clock })
  const findLimits = makeFindLimits(teamLimits)
  const findChoices = makeFindLimitChoices({ ...apiKeys, store, clock })
  const limits = makeLimitForms({ limits: teamLimits, findLimits, findChoices })
  return {
    handlers: {
      ...makeTeamPageHandlers({
        findViewer,
        findOverview: makeFindOverview({ usage, store, findLimits, clock }),
        sessions: makeAgentSessionStore(database),
        models,
        limits,
        clock,
      }),
      ...makeUsagePageHandlers({ findViewer, usage, clock }),
      ...makeAdminPageHandlers({
        findAdmin: onlyAdmins(findViewer),
        members: makeMemberForms({ members: teamMembers, changes: memberChanges, invite, resend, clock }),
        models,
        limits,
        devices: makeDeviceForms({ devices: teamDevices }),
        keys: makeTeamKeyForms({ ...apiKeys, clock }),
        audit,
      }),
    },
  }
}
