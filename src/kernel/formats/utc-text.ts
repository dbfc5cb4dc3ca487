import { DAY_MS } from '../durations.ts'

/** Formats a time for emails and pages: `21 Nov 2026, 02:15 UTC`. */
export function toUtcText(at: Date): string {
  return `${toDayText(toIsoDay(at))}, ${toUtcTimeOfDay(at)}`
}

/** Formats a day such as `2026-11-21` for people: `21 Nov 2026`. */
export function toDayText(isoDay: string): string {
  const [year, month, day] = isoDay.split('-')
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}`
}

/** Formats the time of day alone, for things that expire within minutes: `02:15 UTC`. */
export function toUtcTimeOfDay(at: Date): string {
  return `${at.toISOString().slice(11, 16)} UTC`
}

/** Formats the day in UTC by ISO 8601: `2026-11-21`. A number is in milliseconds since 1970. */
export function toIsoDay(at: Date | number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/**
 * Whether a text is a day, such as `2026-11-21`. `Date.parse` accepts 2026-02-31 as a day of March, and PostgreSQL has
 * no year 0.
 */
export function isDay(text: string): boolean {
  const at = /^[1-9]\d{3}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN
  return !Number.isNaN(at) && toIsoDay(at) === text
}

/** All days from one to another, such as `2026-11-21`; both are included. */
export function listDays(from: string, to: string): string[] {
  const first = Date.parse(from)
  return Array.from({ length: (Date.parse(to) - first) / DAY_MS + 1 }, (_, at) => toIsoDay(first + at * DAY_MS))
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
