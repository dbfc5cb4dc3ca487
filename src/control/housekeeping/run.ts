import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { HousekeepingStore } from './store.ts'

type Needs = {
  /** Publishes the next signing key when its time has come, and reads what other processes published. */
  readonly turnKeys: () => Promise<void>
  readonly housekeeping: HousekeepingStore
  readonly clock: Clock
  readonly log: Logger
}

/** Shorter than a published key waits before it signs, many times over. */
const INTERVAL_MS = 60_000

/** Does what is due, now and then, in the background. Every process does it; doing it twice does no harm. Returns what stops it. */
export function keepHouse({ turnKeys, housekeeping, clock, log }: Needs): () => Promise<void> {
  let underWay: Promise<void> | null = null

  async function round(): Promise<void> {
    try {
      await turnKeys()
      const rows = await housekeeping.sweep(clock.now())
      if (rows > 0) log.debug({ rows }, 'housekeeping.swept')
      await housekeeping.tidy()
    } catch (err) {
      // The next round does it.
      log.warn({ err }, 'housekeeping.failed')
    }
  }

  const timer = setInterval(() => {
    underWay ??= round().finally(() => (underWay = null))
  }, INTERVAL_MS)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await underWay
  }
}
