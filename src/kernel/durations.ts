/** Units of time, for durations that are written as a number of them. A day here always has 24 hours. */
export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
export const DAY_SECONDS = 86_400
