/** The only source of time. Tests bring one that they move. */
export type Clock = {
  /** Wall-clock time, for what is stored or shown. */
  now(): Date
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => new Date() }

export function addMs(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms)
}

export function addSeconds(time: Date, seconds: number): Date {
  return addMs(time, seconds * 1000)
}
