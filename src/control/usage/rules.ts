/**
 * Reports on what calls used. Gateways keep sums for each day, and a report adds up those of a period. An admin sees
 * the whole team, and everyone sees their own calls.
 */

/** The days of a report in UTC, as `2026-11-21`; both are included. */
export type ReportPeriod = { readonly from: string; readonly to: string }

const MAX_DAYS = 366
const DAY_MS = 86_400_000

/** The period of a request, or what is wrong with it. */
export function choosePeriod(given: Partial<ReportPeriod>, now: Date): ReportPeriod | { readonly mistake: string } {
  const to = given.to ?? now.toISOString().slice(0, 10)
  const from = given.from ?? `${to.slice(0, 8)}01`
  if (!isDay(from)) return { mistake: 'from must be a day, such as 2026-11-01.' }
  if (!isDay(to)) return { mistake: 'to must be a day, such as 2026-11-30.' }
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days < 1) return { mistake: 'from must not be after to.' }
  return days > MAX_DAYS ? { mistake: `A report covers at most ${MAX_DAYS} days.` } : { from, to }
}

/** `Date.parse` accepts 2026-02-31 as a day of March. PostgreSQL has no year 0. */
function isDay(text: string): boolean {
  const at = /^[1-9]\d{3}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}
