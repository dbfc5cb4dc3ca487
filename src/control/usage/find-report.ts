import type { UsageGrouping, UsageReport } from '../../../generated/openapi.ts'
import { ApiError } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import { choosePeriod, writePeriodMistake } from './rules.ts'
import type { ReportPeriod } from './rules.ts'
import type { ReportSubject, UsageStore } from './store.ts'

type Needs = { readonly usage: UsageStore; readonly clock: Clock }

type Query = Partial<ReportPeriod> & { readonly by?: UsageGrouping | undefined }

/** Makes the function that finds the report of a request. It throws an `ApiError` when the period is not valid. */
export function makeFindReport({ usage, clock }: Needs) {
  return async (subject: ReportSubject, { by = 'day', ...given }: Query): Promise<UsageReport> => {
    const now = clock.now()
    const period = choosePeriod(given, now)
    if ('mistake' in period) throw new ApiError('invalid_request', { message: writePeriodMistake(period.mistake) })
    const { rows, isTruncated, total } = await usage.findSums({ subject, period, by, now })
    return { team: subject.team, ...period, by, rows, truncated: isTruncated, total }
  }
}
