import type { Clock } from '../../../kernel/clock.ts'
import { toIsoDay } from '../../../kernel/formats/utc-text.ts'
import type { UsageGrouping, UsageReport } from '../../usage/report.ts'
import { choosePeriod, thisMonth } from '../../usage/rules.ts'
import type { PeriodMistake, ReportPeriod } from '../../usage/rules.ts'
import type { makeUsageStore } from '../../usage/store.ts'
import { subjectOf } from '../viewer.ts'
import type { Viewer } from '../viewer.ts'
import type { UsagePage } from './usage-page.ts'

/** The query of the usage page. An empty field of its form counts as absent. */
export type UsageQuery = {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly by?: UsageGrouping | undefined
}

type Needs = { readonly usage: ReturnType<typeof makeUsageStore>; readonly clock: Clock }

/** Finds what the usage page of a viewer shows, and its table for a spreadsheet. */
export function makeFindUsage({ usage, clock }: Needs) {
  return {
    /** What the page shows: this month where the period is not valid. */
    async forPage(viewer: Viewer, query: UsageQuery): Promise<UsagePage> {
      const now = clock.now()
      const asked = withoutEmpty(query)
      const chosen = choosePeriod(asked, now)
      const period = 'mistake' in chosen ? thisMonth(now) : chosen
      const by = query.by ?? 'day'
      const wanted = { subject: subjectOf(viewer), period, now }
      const sums = await usage.findSums({ ...wanted, by })
      const days = by === 'day' ? sums : await usage.findSums({ ...wanted, by: 'day' })
      const mistake = 'mistake' in chosen ? chosen.mistake : null
      return { period, asked, today: toIsoDay(now), by, sums, days, mistake }
    },

    /** The table of the page, or what is wrong with the period. */
    async forFile(viewer: Viewer, query: UsageQuery): Promise<UsageReport | { readonly mistake: PeriodMistake }> {
      const now = clock.now()
      const period = choosePeriod(withoutEmpty(query), now)
      if ('mistake' in period) return period
      const by = query.by ?? 'day'
      const { rows, isTruncated, total } = await usage.findSums({ subject: subjectOf(viewer), period, by, now })
      return { team: viewer.team, ...period, by, rows, truncated: isTruncated, total }
    },
  }
}

function withoutEmpty({ from, to }: UsageQuery): Partial<ReportPeriod> {
  return { ...(from && { from }), ...(to && { to }) }
}
