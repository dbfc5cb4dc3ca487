import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { HousekeepingStore } from './store.ts'

type Needs = {
  /** Publishes the next signing key when it is due, and reads the keys that other processes published. */
  readonly rotateKeys: () => Promise<void>
  /** Tells admins about spending limits that are nearly or wholly reached; null without email. */
  readonly announceLimits: (() => Promise<void>) | null
  readonly store: HousekeepingStore
  readonly clock: Clock
  readonly log: Logger
  /** The time between two rounds. */
  readonly intervalMs?: number
}

/** Much shorter than the time for which a published key waits before it signs. */
const INTERVAL_MS = 60_000

/**
 * The largest difference between the clocks of this process and of the database that is not logged. It is less than the
 * default of `SVC_REFRESH_REPLAY_SECONDS`, because a repeated refresh is judged by the clocks of two processes.
 */
const MAX_MS_APART = 10_000

/** Nothing is deleted while the clock is ahead by more, because devices and keys in use would count as expired. */
const MAX_MS_AHEAD_TO_SWEEP = 3_600_000

/**
 * Starts the work that a process does every minute in the background. Every process does it; doing it twice does no
 * harm. Returns a function that stops it and waits for the statement that is running.
 */
export function startHousekeeping(needs: Needs): () => Promise<void> {
  const { rotateKeys, announceLimits, store, clock, log, intervalMs = INTERVAL_MS } = needs
  const stopping = new AbortController()
  let running: Promise<void> | null = null
  /** How far the clock of this process is ahead of the database's; negative where it is behind. */
  let msAhead = 0

  /** Each task runs whether or not another one fails. The next round tries again. */
  async function round(): Promise<void> {
    await attempt('compare_clocks', compareClocks)
    await attempt('rotate_keys', rotateKeys)
    if (announceLimits) await attempt('announce_limits', announceLimits)
    await attempt('sweep', sweep)
    await attempt('vacuum', store.vacuum)
  }

  async function compareClocks(): Promise<void> {
    const wereApart = areApart(msAhead)
    const asked = clock.now().getTime()
    const time = (await store.findTime()).getTime()
    const answered = clock.now().getTime()
    // The answer may be slow, so a time between the query and its answer counts as no difference.
    msAhead = asked > time ? asked - time : Math.min(0, answered - time)
    // Logged once, until they agree again.
    if (areApart(msAhead) && !wereApart) log.warn({ secondsAhead: Math.round(msAhead / 1000) }, 'clock.differs')
    if (wereApart && !areApart(msAhead)) log.info({}, 'clock.agrees')
  }

  async function sweep(): Promise<void> {
    if (msAhead > MAX_MS_AHEAD_TO_SWEEP) return
    const { rows, failures } = await store.sweep(clock.now(), stopping.signal)
    if (rows > 0) log.debug({ rows }, 'housekeeping.swept')
    const [first] = failures
    if (!first) return
    // One line, because all tables fail while the database is unavailable.
    const tables = [...new Set(failures.map(({ table }) => table))]
    log.warn({ task: 'sweep', tables, err: first.err }, 'housekeeping.failed')
  }

  async function attempt(task: string, run: () => Promise<void>): Promise<void> {
    await run().catch((err: unknown) => log.warn({ task, err }, 'housekeeping.failed'))
  }

  const timer = setInterval(() => {
    running ??= round().finally(() => (running = null))
  }, intervalMs)
  timer.unref()
  return async () => {
    clearInterval(timer)
    stopping.abort()
    await running
  }
}

function areApart(ms: number): boolean {
  return Math.abs(ms) > MAX_MS_APART
}
