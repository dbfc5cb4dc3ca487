import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { MemberStore } from '../../directory/members.ts'
import type { Clock } from '../../kernel/clock.ts'
import { makeAgentSessionStore } from '../agent-sessions/store.ts'
import { makeUsageStore } from '../usage/store.ts'
import { makeFindOverview } from './overview.ts'
import { makeTeamPageHandlers } from './routes.ts'
import { makeConsoleStore } from './store.ts'
import { makeFindUsage } from './usage.ts'
import { makeFindViewer } from './viewer.ts'

type Needs = {
  readonly db: PrismaClient
  readonly members: MemberStore
  readonly clock: Clock
}

/** The pages of a team: what it uses, and what its admins decide. They work without a script. */
export function makeConsoleFlow({ db, members, clock }: Needs) {
  const usage = makeUsageStore(db)
  const store = makeConsoleStore(db)
  return {
    handlers: makeTeamPageHandlers({
      findViewer: makeFindViewer({ members }),
      findOverview: makeFindOverview({ usage, store, clock }),
      findUsage: makeFindUsage({ usage, clock }),
      sessions: makeAgentSessionStore(db),
      store,
      clock,
    }),
  }
}
