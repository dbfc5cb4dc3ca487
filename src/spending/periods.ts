/**
 * The days, weeks and months of a time zone. A week begins on Monday (ISO 8601). A day can have 23 or 25 hours, and in
 * some zones a day begins at 01:00, because the clock skips midnight.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../kernel/durations.ts'
import { toIsoDay } from '../kernel/formats/utc-text.ts'

export const PERIODS = ['day', 'week', 'month'] as const

export type Period = (typeof PERIODS)[number]

/** A period of the calendar. Days are written as `2026-11-21`. */
export type CalendarSpan = {
  /** Its first day. */
  readonly from: string
  /** The first day of the next period. */
  readonly until: string
  /** When the next period begins. */
  readonly resetsAt: Date
}

/** No zone is further from UTC. */
const MAX_OFFSET_MS = 15 * HOUR_MS

const formats = new Map<string, Intl.DateTimeFormat>()

/** Whether this is the IANA name of a time zone, such as `Europe/Berlin`. */
export function isTimeZone(name: string): boolean {
  // Intl also takes offsets, which have no rules for daylight saving time.
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}

/** The period that contains a time. */
export function spanAt(period: Period, timeZone: string, at: Date): CalendarSpan {
  const today = toUtcDate(dayAt(timeZone, at))
  const [from, until] = SPANS[period](today)
  return { from: toIsoDay(from), until: toIsoDay(until), resetsAt: startOfDay(timeZone, toIsoDay(until)) }
}

/** The first day of a period and of the next one, by a day of it. All are midnight in UTC. */
const SPANS: Readonly<Record<Period, (day: Date) => readonly [from: Date, until: Date]>> = {
  day: (day) => [day, plusDays(day, 1)],
  week(day) {
    const monday = plusDays(day, -((day.getUTCDay() + 6) % 7))
    return [monday, plusDays(monday, 7)]
  },
  month(day) {
    const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()]
    return [new Date(Date.UTC(year, month)), new Date(Date.UTC(year, month + 1))]
  },
}

/** The day of a zone at a time. */
export function dayAt(timeZone: string, at: Date): string {
  // Most teams have no other zone, and the first use of Intl takes 14 ms.
  if (timeZone === 'UTC') return toIsoDay(at)
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  )
  return `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`
}

/** When a day of a zone begins: the first minute that has its date. */
function startOfDay(timeZone: string, day: string): Date {
  const midnight = toUtcDate(day).getTime()
  let before = midnight - MAX_OFFSET_MS
  let since = midnight + MAX_OFFSET_MS
  while (since - before > MINUTE_MS) {
    const middle = Math.floor((before + since) / 2 / MINUTE_MS) * MINUTE_MS
    if (dayAt(timeZone, new Date(middle)) < day) before = middle
    else since = middle
  }
  return new Date(since)
}

/**
 * Returns a function that finds the day of a zone at a time, for each model call: it remembers the last day of each
 * zone.
 */
export function makeDayAt(): (timeZone: string, at: Date) => string {
  const lastDays = new Map<string, { readonly day: string; readonly from: number; readonly until: number }>()
  return (timeZone, at) => {
    const last = lastDays.get(timeZone)
    const time = at.getTime()
    if (last && time >= last.from && time < last.until) return last.day
    const day = dayAt(timeZone, at)
    const next = toIsoDay(plusDays(toUtcDate(day), 1))
    const [from, until] = [startOfDay(timeZone, day), startOfDay(timeZone, next)]
    lastDays.set(timeZone, { day, from: from.getTime(), until: until.getTime() })
    return day
  }
}

/** Making a format takes about 50 us, and using it 2 us. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  formats.set(timeZone, format)
  return format
}

function toUtcDate(day: string): Date {
  return new Date(`${day}T00:00:00Z`)
}

function plusDays(date: Date, days: number): Date {
  return new Date(date.getTime() + days * DAY_MS)
}
