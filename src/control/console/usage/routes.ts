import type { Handlers } from '../../../http/operation.ts'
import { sendPage } from '../../../http/page.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { sendCsv } from '../../usage/csv.ts'
import { makeFindReport } from '../../usage/find-report.ts'
import type { UsageStore } from '../../usage/store.ts'
import { subjectOf } from '../viewer.ts'
import type { FindViewer } from '../viewer.ts'
import { makeFindUsage, withoutEmpty } from './find-usage.ts'
import { usagePage } from './usage-page.ts'

type Needs = {
  readonly findViewer: FindViewer
  readonly usage: UsageStore
  readonly clock: Clock
}

type Operations = 'showTeamUsage' | 'downloadTeamUsage'

/** The report of what a team used, as a page and as a file. */
export function makeUsagePageHandlers({ findViewer, usage, clock }: Needs): Handlers<Operations> {
  const findUsage = makeFindUsage({ usage, clock })
  const findReport = makeFindReport({ usage, clock })
  return {
    async showTeamUsage(req, res) {
      const viewer = await findViewer(req)
      const data = await findUsage(viewer, req.query)
      sendPage(res, data.mistake === null ? 200 : 400, usagePage(viewer, data))
    },

    async downloadTeamUsage(req, res) {
      const viewer = await findViewer(req)
      const report = await findReport(subjectOf(viewer), { ...withoutEmpty(req.query), by: req.query.by })
      sendCsv(res, report)
    },
  }
}
