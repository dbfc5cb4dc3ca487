/** Formats a time for emails and pages: `21 Nov 2026, 02:15 UTC`. */
export function toUtcText(at: Date): string {
  return `${toUtcDay(at)}, ${toUtcTimeOfDay(at)}`
}

/** Formats the day in UTC: `21 Nov 2026`. */
export function toUtcDay(at: Date): string {
  const [year, month, day] = at.toISOString().slice(0, 10).split('-')
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}`
}

/** Formats the time of day alone, for things that expire within minutes: `02:15 UTC`. */
export function toUtcTimeOfDay(at: Date): string {
  return `${at.toISOString().slice(11, 16)} UTC`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
