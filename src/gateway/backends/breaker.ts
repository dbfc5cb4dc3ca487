/**
 * A circuit breaker, as pure data. It is closed while a backend works. Five failures within 30 seconds open it. After
 * about half a minute, one call is let through as a probe, and its result closes or opens the breaker. Times are in
 * milliseconds.
 */

export type Breaker =
  | { readonly kind: 'closed'; readonly failedAt: readonly number[] }
  | { readonly kind: 'open'; readonly probeAt: number }
  /** `until`: when the next probe may be made, in case this one has no result. */
  | { readonly kind: 'half_open'; readonly until: number }

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
  return breaker.kind !== 'closed' && isProbeDue(breaker, now) ? { kind: 'half_open', until: now + PROBE_MS } : breaker
}

/** The breaker after a call that worked. One that began before the probe says nothing about the time after it. */
export function afterSuccess(breaker: Breaker, startedAt: number): Breaker {
  return breaker.kind === 'half_open' && startedAt >= breaker.until - PROBE_MS ? CLOSED : breaker
}

/** The breaker after a call that failed. `jitter`, from 0 to 1, keeps processes from probing at the same time. */
export function afterFailure(breaker: Breaker, now: number, jitter: number): Breaker {
  if (breaker.kind === 'open') return breaker
  const failedAt = breaker.kind === 'closed' ? [...breaker.failedAt.filter((at) => now - at < WINDOW_MS), now] : []
  if (breaker.kind === 'closed' && failedAt.length < MAX_FAILURES) return { kind: 'closed', failedAt }
  return { kind: 'open', probeAt: now + OPEN_MS * (0.75 + jitter / 2) }
}

function isProbeDue(breaker: Exclude<Breaker, { kind: 'closed' }>, now: number): boolean {
  return now >= (breaker.kind === 'open' ? breaker.probeAt : breaker.until)
}
