import { inspect, isDeepStrictEqual } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'

export type WaitOptions = {
  /** How long to wait in all. Generous: a wait that ends well costs only what it takes. */
  readonly timeoutMs?: number
  /** The pause between two looks. */
  readonly intervalMs?: number
}

/** Less than the timeout of a test, so that a wait that fails says itself what it waited for. */
const TIMEOUT_MS = 30_000
const INTERVAL_MS = 10

/**
 * Reads a value again and again until `isReached` accepts it, and resolves with it.
 *
 * A read that throws counts as not reached. After the deadline it rejects with what was waited for and what was last
 * seen, also when a read itself never ends.
 */
export async function waitUntil<T>(
  what: string,
  read: () => T | Promise<T>,
  isReached: (seen: T) => boolean,
  { timeoutMs = TIMEOUT_MS, intervalMs = INTERVAL_MS }: WaitOptions = {},
): Promise<T> {
  let lastSeen = 'nothing: the first read has not ended'
  let lastError: unknown
  const timer = new AbortController()
  const deadline = sleep(timeoutMs, 'late' as const, { signal: timer.signal })
  try {
    for (;;) {
      const outcome = await Promise.race([attempt(read), deadline])
      if (outcome === 'late') break
      if ('value' in outcome && isReached(outcome.value)) return outcome.value
      lastError = 'error' in outcome ? outcome.error : undefined
      lastSeen = 'error' in outcome ? `an error: ${String(outcome.error)}` : inspect(outcome.value, { depth: 5 })
      if ((await Promise.race([sleep(intervalMs), deadline])) === 'late') break
    }
  } finally {
    deadline.catch(() => undefined)
    timer.abort()
  }
  throw new Error(`Waited ${timeoutMs} ms for ${what}. Last seen: ${lastSeen}`, { cause: lastError })
}

/** Reads a value until it equals `expected` member by member; see `waitUntil`. */
export async function waitForValue<T>(
  what: string,
  read: () => T | Promise<T>,
  expected: T,
  options?: WaitOptions,
): Promise<void> {
  const isExpected = (seen: T) => isDeepStrictEqual(seen, expected)
  await waitUntil(`${what} (expected: ${inspect(expected, { depth: 5 })})`, read, isExpected, options)
}

/** The value of a promise; rejects after the deadline with what was waited for. */
export async function withDeadline<T>(what: string, promise: Promise<T>, timeoutMs = TIMEOUT_MS): Promise<T> {
  const timer = new AbortController()
  const late = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`Waited ${timeoutMs} ms for ${what}.`)
  })
  late.catch(() => undefined)
  try {
    return await Promise.race([promise, late])
  } finally {
    timer.abort()
  }
}

async function attempt<T>(read: () => T | Promise<T>): Promise<{ readonly value: T } | { readonly error: unknown }> {
  try {
    return { value: await read() }
  } catch (error) {
    return { error }
  }
}
