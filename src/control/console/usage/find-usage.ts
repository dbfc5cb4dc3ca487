import type { UsageGrouping } from '../../../../generated/openapi.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { toIsoDay } from '../../../kernel/formats/utc-text.ts'
import { choosePeriod, thisMonth } from '../../usage/rules.ts'
import type { ReportPeriod } from '../../usage/rules.ts'
import type { UsageStore } from '../../usage/store.ts'
import { subjectOf } from '../viewer.ts'
import type { Viewer } from '../viewer.ts'
import type { UsagePage } from './usage-page.ts'

/** The query of the usage page. An empty field of its form counts as absent. */
type UsageQuery = {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly by?: UsageGrouping | undefined
}

type Needs = { readonly usage: UsageStore; readonly clock: Clock }

/** Makes the function that finds what the usage page of a viewer shows: this month where the period is not valid. */
export function makeFindUsage({ usage, clock }: Needs) {
  return async (viewer: Viewer, query: UsageQuery): Promise<UsagePage> => {
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
  }
}

/** The period that the form gives. */
export function withoutEmpty({ from, to }: UsageQuery): Partial<ReportPeriod> {
  return { ...(from && { from }), ...(to && { to }) }
}
