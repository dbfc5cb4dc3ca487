/** A browser session: made by a magic link, ended by sign-out, by 8 hours without use, and after 24 hours in any case. */
import { addSeconds } from '../../kernel/clock.ts'

const IDLE_SECONDS = 8 * 3600
const ABSOLUTE_SECONDS = 24 * 3600

/** What the rules look at. */
export type BrowserSessionTimes = {
  readonly lastSeenAt: Date
  readonly idleExpiresAt: Date
  readonly absoluteExpiresAt: Date
}

/** The times of a session that begins now. */
export function beginTimes(now: Date) {
  return {
    createdAt: now,
    authenticatedAt: now,
    lastSeenAt: now,
    idleExpiresAt: addSeconds(now, IDLE_SECONDS),
    absoluteExpiresAt: addSeconds(now, ABSOLUTE_SECONDS),
  }
}

/** For how long the browser keeps the cookie. */
export const COOKIE_SECONDS = ABSOLUTE_SECONDS

export function isOver({ idleExpiresAt, absoluteExpiresAt }: BrowserSessionTimes, now: Date): boolean {
  return now >= idleExpiresAt || now >= absoluteExpiresAt
}

/** The times after a use; null when they are recent enough that nothing need be written. */
export function touchTimes(
  { lastSeenAt }: BrowserSessionTimes,
  now: Date,
): { lastSeenAt: Date; idleExpiresAt: Date } | null {
  const recent = now.getTime() - lastSeenAt.getTime() < 60_000
  return recent ? null : { lastSeenAt: now, idleExpiresAt: addSeconds(now, IDLE_SECONDS) }
}
