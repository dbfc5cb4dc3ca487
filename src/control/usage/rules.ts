/**
 * Reports on what calls used. Gateways keep sums of days and months, and a report adds up those of a period. An admin
 * sees the whole team, and everyone sees their own calls.
 */
import { DAY_MS } from '../../kernel/durations.ts'
import { isDay, listDays, toIsoDay } from '../../kernel/formats/utc-text.ts'

/** The days of a report in UTC, as `2026-11-21`; both are included. */
export type ReportPeriod = { readonly from: string; readonly to: string }

const MAX_DAYS = 366

/** From the first day of this month until today. */
export function thisMonth(now: Date): ReportPeriod {
  const today = toIsoDay(now)
  return { from: monthOf(today), to: today }
}

/** What is wrong with a day of a period. */
export type PeriodMistake = { readonly field: keyof ReportPeriod; readonly message: string }

/** The period of a request, or what is wrong with it. It is this month where the request does not say otherwise. */
export function choosePeriod(
  given: Partial<ReportPeriod>,
  now: Date,
): ReportPeriod | { readonly mistake: PeriodMistake } {
  const refuse = (field: keyof ReportPeriod, message: string) => ({ mistake: { field, message } })
  const { to = toIsoDay(now) } = given
  // Checked first: a first day that is not given follows from the last one.
  if (!isDay(to)) return refuse('to', 'must be a day, such as 2026-11-30.')
  const { from = monthOf(to) } = given
  if (!isDay(from)) return refuse('from', 'must be a day, such as 2026-11-01.')
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days < 1) return refuse('from', 'must not be after the last day.')
  return days > MAX_DAYS ? refuse('from', `must be later: a report covers at most ${MAX_DAYS} days.`) : { from, to }
}

/** Writes a mistake with the name that the API has for the day. */
export function writePeriodMistake({ field, message }: PeriodMistake): string {
  return `${field} ${message}`
}

/**
 * The sums that a period is made of: those of these months and days, without those of the days in `removed`. All are
 * days such as `2026-11-21`; a month is its first day.
 */
export type PeriodParts = {
  readonly months: readonly string[]
  readonly days: readonly string[]
  readonly removed: readonly string[]
}

/**
 * Splits a period into sums of months and of days, with as few days as possible. Where most of a month is in the
 * period, the other days are removed from its sum. `today`: days after it have no sums, or few.
 */
export function splitByMonth({ from, to }: ReportPeriod, today: string): PeriodParts {
  const months: string[] = []
  const days: string[] = []
  const removed: string[] = []
  for (const [month, inside] of Map.groupBy(listDays(from, to), monthOf)) {
    const outside = listDays(month, lastDayOfMonth(month)).filter((day) => day < from || day > to)
    const isMost = outside.filter((day) => day <= today).length < inside.length
    if (isMost) months.push(month)
    if (isMost) removed.push(...outside)
    else days.push(...inside)
  }
  return { months, days, removed }
}

function monthOf(day: string): string {
  return `${day.slice(0, 8)}01`
}

/** The last day of the month of a day. */
export function lastDayOfMonth(day: string): string {
  const [year = 0, month = 0] = day.split('-').map(Number)
  return toIsoDay(Date.UTC(year, month, 0))
}
