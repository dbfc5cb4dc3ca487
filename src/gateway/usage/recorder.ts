import { newIdentifier } from '../../kernel/identifier.ts'
import type { Logger } from '../../log.ts'
import type { CallEvent, EventBatch } from './events.ts'

type Needs = {
  /** Saves all of a batch or nothing. Called again with a batch that may have been saved. */
  readonly save: (batch: EventBatch) => Promise<void>
  /** Whether the database cannot be reached, so that the same batch may succeed later. Other failures are permanent. */
  readonly isDatabaseUnavailable: (error: unknown) => boolean
  readonly log: Logger
}

export type EventRecorder = {
  /** Takes an event and returns at once. */
  record(event: CallEvent): void
  /** Saves the remaining events if the database can be reached, and ends. */
  close(): Promise<void>
}

const FLUSH_MS = 1000
const MAX_BATCH = 500
/** About 20 MB. A busy gateway produces as many events in some minutes. */
const MAX_WAITING = 50_000

/**
 * Saves events in batches, in the background: every second, or as soon as a batch is full. While the database cannot be
 * reached, events wait. When too many wait, the oldest that are not in a batch yet are dropped, and their number is
 * logged.
 */
export function openRecorder({ save, isDatabaseUnavailable, log }: Needs, maxWaiting = MAX_WAITING): EventRecorder {
  let waiting: CallEvent[] = []
  /** The batch that is being saved or waits for a retry. It does not change until it is saved or refused. */
  let batch: EventBatch | null = null
  let dropped = 0
  let saving: Promise<boolean> | null = null
  let timer: NodeJS.Timeout | null = null

  /** Resolves with false when the database cannot be reached; the batch then waits. */
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
        // Drops a tenth at once, because each drop copies the list.
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
