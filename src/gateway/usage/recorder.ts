import { newIdentifier } from '../../kernel/identifier.ts'
import type { Logger } from '../../log.ts'
import type { CallEvent, EventBatch } from './events.ts'

type Needs = {
  /** Saves all of a batch or nothing. Called again with a batch that may have been saved. */
  readonly save: (batch: EventBatch) => Promise<void>
  /** The database cannot be reached, so the same batch may succeed later. Any other failure would repeat each time. */
  readonly isDatabaseUnavailable: (error: unknown) => boolean
  readonly log: Logger
}

export type EventRecorder = {
  /** Takes an event and returns at once. */
  record(event: CallEvent): void
  /** Saves what is left, as far as the database can be reached, and ends. */
  close(): Promise<void>
}

const FLUSH_MS = 1000
const MAX_BATCH = 500
/** About 20 MB: the events of minutes of a busy gateway. */
const MAX_WAITING = 50_000

/**
 * Saves events in batches, outside of the calls: every second, or as soon as a batch is full. While the database cannot
 * be reached, events wait. When too many wait, the oldest that are in no batch yet are dropped, and the log says how
 * many.
 */
export function openRecorder({ save, isDatabaseUnavailable, log }: Needs, maxWaiting = MAX_WAITING): EventRecorder {
  let waiting: CallEvent[] = []
  /** Being saved, or to be saved again: it does not change until it is saved or refused. */
  let batch: EventBatch | null = null
  let dropped = 0
  let saving: Promise<boolean> | null = null
  let timer: NodeJS.Timeout | null = null

  /** False: the database cannot be reached, and the batch waits. */
  function saveBatch(): Promise<boolean> {
    saving ??= saveNext().finally(() => (saving = null))
    return saving
  }

  async function saveNext(): Promise<boolean> {
    batch ??= { id: newIdentifier('batch_'), events: waiting.splice(0, MAX_BATCH) }
    try {
      await save(batch)
    } catch (err) {
      if (isDatabaseUnavailable(err)) return false
      log.error({ err, events: batch.events.length }, 'call_events.refused')
    }
    batch = null
    return true
  }

  async function saveAll(): Promise<void> {
    while (countUnsaved() > 0) if (!(await saveBatch())) return
  }

  function countUnsaved(): number {
    return waiting.length + (batch?.events.length ?? 0)
  }

  function flushSoon(): void {
    timer ??= setTimeout(() => {
      timer = null
      void saveAll().then(() => {
        logDropped()
        if (countUnsaved() > 0) flushSoon()
      })
    }, FLUSH_MS).unref()
  }

  function logDropped(): void {
    if (dropped === 0 || saving) return
    log.warn({ events: dropped }, 'call_events.dropped')
    dropped = 0
  }

  return {
    record(event) {
      waiting.push(event)
      if (waiting.length > maxWaiting) {
        // A tenth at once, because each time copies the list.
        const excess = Math.max(1, Math.floor(maxWaiting / 10))
        waiting = waiting.slice(excess)
        dropped += excess
      }
      if (waiting.length === MAX_BATCH) void saveBatch()
      flushSoon()
    },
    async close() {
      if (timer) clearTimeout(timer)
      await saving
      await saveAll()
      dropped += countUnsaved()
      logDropped()
    },
  }
}
