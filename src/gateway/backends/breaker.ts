/**
 * A circuit breaker, as pure data. It is closed while a backend works. Five failures within 30 seconds open it, where
 * each call that works makes up for one of them. After about half a minute, one call is let through as a probe, and its
 * result closes or opens the breaker. Times are in milliseconds.
 */

export type Breaker =
  | { readonly kind: 'closed'; readonly failedAt: readonly number[] }
  | { readonly kind: 'open'; readonly since: number; readonly probeAt: number }
  /** `since`: when the first probe has begun. `until`: when the next one may be made, in case none has a result. */
  | { readonly kind: 'half_open'; readonly since: number; readonly until: number }

const MAX_FAILURES = 5
const WINDOW_MS = 30_000
const OPEN_MS = 30_000
const PROBE_MS = 10_000

export const CLOSED: Breaker = { kind: 'closed', failedAt: [] }

/** Whether the backend should be asked after all others. */
export function isTripped(breaker: Breaker, now: number): boolean {
  return breaker.kind !== 'closed' && !isProbeDue(breaker, now)
}

/** The breaker after a call has begun. */
export function afterStart(breaker: Breaker, now: number): Breaker {
  if (breaker.kind === 'closed' || !isProbeDue(breaker, now)) return breaker
  const since = breaker.kind === 'half_open' ? breaker.since : now
  return { kind: 'half_open', since, until: now + PROBE_MS }
}

/**
 * The breaker after an answer has begun. A call that began before the breaker opened, or before the first probe, says
 * nothing about the time after it. Whole answers may take longer than the time between two probes.
 */
export function afterAnswer(breaker: Breaker, startedAt: number): Breaker {
  return breaker.kind !== 'closed' && startedAt >= breaker.since ? CLOSED : breaker
}

/** The breaker after a call that worked until its end. It makes up for the oldest of the failures that count. */
export function afterSuccess(breaker: Breaker): Breaker {
  if (breaker.kind !== 'closed' || breaker.failedAt.length === 0) return breaker
  return { kind: 'closed', failedAt: breaker.failedAt.slice(1) }
}

/** The breaker after a call that failed. `jitter`, from 0 to 1, keeps processes from probing at the same time. */
export function afterFailure(breaker: Breaker, now: number, jitter: number): Breaker {
  if (breaker.kind === 'open') return breaker
  const failedAt = breaker.kind === 'closed' ? [...breaker.failedAt.filter((at) => now - at < WINDOW_MS), now] : []
  if (breaker.kind === 'closed' && failedAt.length < MAX_FAILURES) return { kind: 'closed', failedAt }
  return { kind: 'open', since: now, probeAt: now + OPEN_MS * (0.75 + jitter / 2) }
}

function isProbeDue(breaker: Exclude<Breaker, { kind: 'closed' }>, now: number): boolean {
  return now >= (breaker.kind === 'open' ? breaker.probeAt : breaker.until)
}
