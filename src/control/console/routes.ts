import type { Response } from 'express'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { sendPage } from '../../http/page.ts'
import { callerOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { readSessionPlace, writeSessionPlace } from '../agent-sessions/rules.ts'
import type { makeAgentSessionStore } from '../agent-sessions/store.ts'
import { findPage, readPlace } from '../paging.ts'
import { toFileName, writeCsv } from '../usage/csv.ts'
import type { LimitForms } from './limits/limit-forms.ts'
import type { ModelForms } from './models/model-forms.ts'
import { NO_OUTCOME } from './models/models-outcome.ts'
import type { makeFindOverview } from './overview/find-overview.ts'
import { overviewPage } from './overview/overview-page.ts'
import { sessionsPage } from './sessions-page.ts'
import type { makeFindUsage } from './usage/find-usage.ts'
import { usagePage } from './usage/usage-page.ts'
import { pathOf } from './viewer.ts'
import type { FindViewer } from './viewer.ts'

type Needs = {
  readonly findViewer: FindViewer
  readonly findOverview: ReturnType<typeof makeFindOverview>
  readonly findUsage: ReturnType<typeof makeFindUsage>
  readonly sessions: Pick<ReturnType<typeof makeAgentSessionStore>, 'list'>
  readonly models: Pick<ModelForms, 'render'>
  readonly limits: Pick<LimitForms, 'render'>
  readonly clock: Clock
}

type Operations =
  | 'openOwnTeam'
  | 'showTeamOverview'
  | 'showTeamUsage'
  | 'downloadTeamUsage'
  | 'showTeamLimits'
  | 'showTeamModels'
  | 'showTeamSessions'

const SESSIONS_OF_PAGE = 50

/** The pages of a team that all its members see. */
export function makeTeamPageHandlers(needs: Needs): Handlers<Operations> {
  const { findViewer, findOverview, findUsage, sessions, models, limits, clock } = needs
  return {
    async openOwnTeam(req, res) {
      const Location = pathOf(callerOf(req).team)
      asExpress(res).set({ 'Cache-Control': 'no-store', Location }).status(303).end()
    },

    async showTeamOverview(req, res) {
      const viewer = await findViewer(callerOf(req), req.params)
      sendPage(asExpress(res), 200, overviewPage(viewer, await findOverview(viewer)))
    },

    async showTeamUsage(req, res) {
      const viewer = await findViewer(callerOf(req), req.params)
      const data = await findUsage.forPage(viewer, req.query)
      sendPage(asExpress(res), data.mistake === null ? 200 : 400, usagePage(viewer, data))
    },

    async downloadTeamUsage(req, res) {
      const viewer = await findViewer(callerOf(req), req.params)
      const report = await findUsage.forFile(viewer, req.query)
      if ('mistake' in report) throw new ApiError('invalid_request', { message: report.mistake })
      const answer = asExpress(res).status(200).set('Cache-Control', 'no-store')
      answer.attachment(toFileName(report)).type('text/csv').end(writeCsv(report))
    },

    async showTeamLimits(req, res) {
      const viewer = await findViewer(callerOf(req), req.params)
      sendPage(asExpress(res), 200, await limits.render(viewer, { notice: null, draft: null }))
    },

    async showTeamModels(req, res) {
      const viewer = await findViewer(callerOf(req), req.params)
      sendPage(asExpress(res), 200, await models.render(viewer, NO_OUTCOME))
    },

    async showTeamSessions(req, res) {
      const viewer = await findViewer(callerOf(req), req.params)
      const before = readPlace('before', req.query.before, readSessionPlace)
      const { shown, last } = await findPage(SESSIONS_OF_PAGE, (limit) =>
        sessions.list({ team: viewer.team, account: null, before, limit }, clock.now()),
      )
      sendPage(asExpress(res), 200, sessionsPage(viewer, { sessions: shown, next: last && writeSessionPlace(last) }))
    },
  }
}

/** The answer as Express types it: these operations answer with pages. */
function asExpress(res: unknown): Response {
  return res as Response
}
