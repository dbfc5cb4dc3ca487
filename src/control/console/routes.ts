import type { Handlers } from '../../http/operation.ts'
import { sendPage } from '../../http/page.ts'
import { callerOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { readSessionCursor, writeSessionCursor } from '../agent-sessions/rules.ts'
import type { AgentSessionStore } from '../agent-sessions/store.ts'
import { pathOfTeam } from '../pages/forms.ts'
import { findPage, readCursor } from '../paging.ts'
import { NOTHING_SENT } from './form-outcome.ts'
import type { LimitForms } from './limits/limit-forms.ts'
import type { ModelForms } from './models/model-forms.ts'
import { NO_OUTCOME } from './models/models-outcome.ts'
import type { makeFindOverview } from './overview/find-overview.ts'
import { overviewPage } from './overview/overview-page.ts'
import { sessionsPage } from './sessions-page.ts'
import type { FindViewer } from './viewer.ts'

type Needs = {
  readonly findViewer: FindViewer
  readonly findOverview: ReturnType<typeof makeFindOverview>
  readonly sessions: Pick<AgentSessionStore, 'list'>
  readonly models: Pick<ModelForms, 'render'>
  readonly limits: Pick<LimitForms, 'render'>
  readonly clock: Clock
}

type Operations = 'openOwnTeam' | 'showTeamOverview' | 'showTeamLimits' | 'showTeamModels' | 'showTeamSessions'

const SESSIONS_OF_PAGE = 50

/** The pages of a team that all its members see, besides the reports of usage. */
export function makeTeamPageHandlers(needs: Needs): Handlers<Operations> {
  const { findViewer, findOverview, sessions, models, limits, clock } = needs
  return {
    async openOwnTeam(req, res) {
      const Location = pathOfTeam(callerOf(req).team)
      res.statusCode = 303
      res.set({ Location }).end()
    },

    async showTeamOverview(req, res) {
      const viewer = await findViewer(req)
      sendPage(res, 200, overviewPage(viewer, await findOverview(viewer)))
    },

    async showTeamLimits(req, res) {
      const viewer = await findViewer(req)
      sendPage(res, 200, await limits.render(viewer, NOTHING_SENT))
    },

    async showTeamModels(req, res) {
      const viewer = await findViewer(req)
      sendPage(res, 200, await models.render(viewer, NO_OUTCOME))
    },

    async showTeamSessions(req, res) {
      const viewer = await findViewer(req)
      const before = readCursor('before', req.query.before, readSessionCursor)
      const { shown, last } = await findPage(SESSIONS_OF_PAGE, (limit) =>
        sessions.list({ team: viewer.team, account: null, before, limit }, clock.now()),
      )
      const next = last && writeSessionCursor(last)
      sendPage(res, 200, sessionsPage(viewer, { sessions: shown, isFirst: before === null, next }))
    },
  }
}
