import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { HousekeepingStore } from './store.ts'

type Needs = {
  /** Publishes the next signing key when it is due, and reads the keys that other processes published. */
  readonly rotateKeys: () => Promise<void>
  readonly store: HousekeepingStore
  readonly clock: Clock
  readonly log: Logger
}

/** Much shorter than the time for which a published key waits before it signs. */
const INTERVAL_MS = 60_000

/**
 * Starts the work that a process does every minute in the background. Every process does it; doing it twice does no
 * harm. Returns a function that stops it and waits for the round that is running.
 */
export function startHousekeeping({ rotateKeys, store, clock, log }: Needs): () => Promise<void> {
  let running: Promise<void> | null = null

  async function round(): Promise<void> {
    try {
      await rotateKeys()
      const rows = await store.sweep(clock.now())
      if (rows > 0) log.debug({ rows }, 'housekeeping.swept')
      await store.vacuum()
    } catch (err) {
      // The next round tries again.
      log.warn({ err }, 'housekeeping.failed')
    }
  }

  const timer = setInterval(() => {
    running ??= round().finally(() => (running = null))
  }, INTERVAL_MS)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}
