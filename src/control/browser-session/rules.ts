/**
 * A browser session signs a person in on the pages. A link of an email or a passkey begins it; it ends by sign-out,
 * after 8 hours without use, and after 24 hours in any case. A session that a passkey began depends on the device
 * session of the same browser and ends with it.
 *
 *     begun --(each use, at most once a minute)--> touched
 *        \------------------------------------------\--(sign-out, withdrawal)--> revoked
 *         \------------------------------------------\--(8 h idle, 24 h)--> over
 *
 * `over` is not stored: it follows from the two ends.
 */
import { addSeconds } from '../../kernel/clock.ts'
import { DAY_SECONDS } from '../../kernel/durations.ts'

const IDLE_SECONDS = 8 * 3600
const ABSOLUTE_SECONDS = 24 * 3600

/** A use within this time of the last one writes nothing. */
const TOUCH_INTERVAL_MS = 60_000

/**
 * How long the browser keeps the cookie: longer than the session lasts. At the next sign-in, the cookie says which
 * device session the same browser has, which the sign-in continues, replaces or ends. Housekeeping keeps the rows as
 * long.
 */
export const COOKIE_SECONDS = 30 * DAY_SECONDS

/** The part of a browser session that the rules read. */
export type BrowserSessionTimes = {
  readonly lastSeenAt: Date
  readonly idleExpiresAt: Date
  readonly absoluteExpiresAt: Date
}

/** The times of a session that begins now. */
export function beginTimes(now: Date) {
  return {
    createdAt: now,
    idleExpiresAt: addSeconds(now, IDLE_SECONDS),
    absoluteExpiresAt: addSeconds(now, ABSOLUTE_SECONDS),
  }
}

/** Whether the time of a session has ended. */
export function isOver({ idleExpiresAt, absoluteExpiresAt }: BrowserSessionTimes, now: Date): boolean {
  return now >= idleExpiresAt || now >= absoluteExpiresAt
}

/** The times after a use; null when the last use is recent and nothing needs to be written. */
export function touchTimes(
  { lastSeenAt }: BrowserSessionTimes,
  now: Date,
): { lastSeenAt: Date; idleExpiresAt: Date } | null {
  const isRecent = now.getTime() - lastSeenAt.getTime() < TOUCH_INTERVAL_MS
  return isRecent ? null : { lastSeenAt: now, idleExpiresAt: addSeconds(now, IDLE_SECONDS) }
}
