import { putNewest } from '../kernel/bounded-map.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'

/** When a device session or an API key was last used, and from which address. */
export type Use = { readonly id: string; readonly at: Date; readonly ip: string }

/**
 * Keeps the time of the last use of many credentials, to the minute. A request costs one look-up in a map, and no
 * query: a credential is noted once a minute at most, and what was noted is saved in one statement a second.
 */
export type LastSeen = {
  /** Notes a use. `ipOf` is called only when the use is due to be saved. */
  note(id: string, ipOf: () => string): void
  /** Saves what is left, and ends. */
  close(): Promise<void>
}

type Needs = {
  readonly save: (uses: readonly Use[]) => Promise<void>
  readonly clock: Clock
  readonly log: Logger
  readonly flushMs?: number
}

/** A use within this time of the last noted one is not noted. */
const NOTE_INTERVAL_MS = 60_000
const FLUSH_MS = 1000
const MAX_CREDENTIALS = 20_000
/** How many uses one statement saves. */
const MAX_BATCH = 1000

/** Uses that could not be saved are saved with the next ones, every second until the database answers. */
export function openLastSeen({ save, clock, log, flushMs = FLUSH_MS }: Needs): LastSeen {
  const notedAt = new Map<string, number>()
  let waiting = new Map<string, Use>()
  let timer: NodeJS.Timeout | null = null
  let saving: Promise<void> = Promise.resolve()
  let isClosed = false

  function schedule(): void {
    if (isClosed) return
    timer ??= setTimeout(() => {
      timer = null
      saving = saving.then(saveAll)
    }, flushMs).unref()
  }

  async function saveAll(): Promise<void> {
    const uses = [...waiting.values()]
    waiting = new Map()
    for (let start = 0; start < uses.length; start += MAX_BATCH) await saveBatch(uses.slice(start, start + MAX_BATCH))
  }

  async function saveBatch(uses: readonly Use[]): Promise<void> {
    try {
      await save(uses)
    } catch (err) {
      log.debug({ err }, 'last_seen.save_failed')
      for (const use of uses) if (!waiting.has(use.id)) putNewest(waiting, use.id, use, MAX_CREDENTIALS)
      schedule()
    }
  }

  return {
    note(id, ipOf) {
      const at = clock.now()
      const before = notedAt.get(id)
      if (before !== undefined && at.getTime() - before < NOTE_INTERVAL_MS) return
      putNewest(notedAt, id, at.getTime(), MAX_CREDENTIALS)
      putNewest(waiting, id, { id, at, ip: ipOf() }, MAX_CREDENTIALS)
      schedule()
    },
    async close() {
      isClosed = true
      if (timer) clearTimeout(timer)
      await saving
      await saveAll()
    },
  }
}
