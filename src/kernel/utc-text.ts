/** A time for people, in UTC, which mails and pages share: `21 Nov 2026, 02:15 UTC`. */
export function toUtcText(at: Date): string {
  const [year, month, day] = at.toISOString().slice(0, 10).split('-')
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}, ${toUtcTimeOfDay(at)}`
}

/** The time of day alone, for what ends within minutes: `02:15 UTC`. */
export function toUtcTimeOfDay(at: Date): string {
  return `${at.toISOString().slice(11, 16)} UTC`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
