/** The only source of wall-clock time, so that tests can replace it. */
export type Clock = {
  /** The time that is stored or shown. Durations are measured with `performance.now()` instead. */
  now(): Date
}

/** The clock of this machine. */
export const systemClock: Clock = { now: () => new Date() }

/** The milliseconds from one time of a clock to another; 0 where the clock was set back between them. */
export function msBetween(from: Date, to: Date): number {
  return Math.max(0, to.getTime() - from.getTime())
}

/** A time plus milliseconds, which may be negative. */
export function addMs(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms)
}

/** A time plus seconds, which may be negative. */
export function addSeconds(time: Date, seconds: number): Date {
  return addMs(time, seconds * 1000)
}
