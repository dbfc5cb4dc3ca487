import { newIdentifier } from '../../kernel/identifier.ts'
import type { Logger } from '../../log.ts'
import type { CallEvent, EventBatch } from './events.ts'
import type { Spool } from './spool.ts'

type Needs = {
  /** Saves all of a batch or nothing. Called again with a batch that may have been saved. */
  readonly save: (batch: EventBatch) => Promise<void>
  /** Called with each new batch, before it is saved for the first time. */
  readonly onBatch: (batch: EventBatch) => void
  /** Whether the database cannot be reached, so that the same batch may succeed later. Other failures are permanent. */
  readonly isDatabaseUnavailable: (error: unknown) => boolean
  /** Keeps batches while the database cannot be reached; null: they wait in memory. */
  readonly spool: Spool | null
  readonly log: Logger
}

export type EventRecorder = {
  /** Takes an event and returns at once. */
  record(event: CallEvent): void
  /** Saves what is left, in the spool where the database cannot be reached, and ends. */
  close(): Promise<void>
}

/** Short, because people who follow a session wait for it. */
const FLUSH_MS = 500
const MAX_BATCH = 500
/** About 20 MB. A busy gateway produces as many events in some minutes. */
const MAX_WAITING = 50_000

/**
 * Saves events in batches, outside of the calls: twice a second, or as soon as a batch is full. While the database
 * cannot be reached, events wait in the spool, or in memory where there is none or it is full. When too many wait in
 * memory, the oldest that are in no batch yet are dropped, and the log says how many. What an earlier process left in
 * the spool is saved first.
 */
export function openRecorder(
  { save, onBatch, isDatabaseUnavailable, spool, log }: Needs,
  maxWaiting = MAX_WAITING,
): EventRecorder {
  let waiting: CallEvent[] = []
  /** The batch that is being saved or waits for a retry. It does not change until it is saved or refused. */
  let batch: EventBatch | null = null
  let dropped = 0
  /** The spool may hold batches. */
  let isSpooled = spool !== null
  let saving: Promise<boolean> | null = null
  let flushing: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | null = null
  let isClosed = false

  /** Resolves with false when the database cannot be reached; the batch then waits. */
  function saveBatch(): Promise<boolean> {
    saving ??= saveNext().finally(() => (saving = null))
    return saving
  }

  async function saveNext(): Promise<boolean> {
    batch ??= cutBatch()
    if (!(await saveOrRefuse(batch))) {
      await spoolAll()
      return false
    }
    batch = null
    return true
  }

  /** False: the database cannot be reached. */
  async function saveOrRefuse(next: EventBatch): Promise<boolean> {
    try {
      await save(next)
    } catch (err) {
      if (isDatabaseUnavailable(err)) return false
      log.error({ err, events: next.events.length }, 'call_events.refused')
    }
    return true
  }

  function cutBatch(): EventBatch {
    const next = { id: newIdentifier('batch_'), events: waiting.splice(0, MAX_BATCH) }
    onBatch(next)
    return next
  }

  async function spoolAll(): Promise<void> {
    while (spool && countUnsaved() > 0) {
      batch ??= cutBatch()
      if (!(await spool.write(batch))) return
      batch = null
      isSpooled = true
    }
  }

  async function saveSpooled(): Promise<void> {
    while (spool && isSpooled && !isClosed) {
      const next = await spool.readOldest()
      if (next && !(await saveOrRefuse(next))) return
      // A batch that stays is read again, so without this end it would be saved in an endless loop.
      if (next && !(await spool.remove(next))) return
      if (!next) isSpooled = false
    }
  }

  async function saveAll(): Promise<void> {
    while (countUnsaved() > 0) if (!(await saveBatch())) return
  }

  /**
   * Saves what waits. Events that come meanwhile are left for the next time, unless they fill a batch: a statement
   * costs about as much as 30 events in it.
   */
  async function flush(): Promise<void> {
    do {
      if (countUnsaved() > 0 && !(await saveBatch())) return
    } while (waiting.length >= MAX_BATCH)
    await saveSpooled()
  }

  function countUnsaved(): number {
    return waiting.length + (batch?.events.length ?? 0)
  }

  function flushSoon(): void {
    if (isClosed) return
    timer ??= setTimeout(() => {
      timer = null
      flushing = flush().then(() => {
        logDropped()
        if (countUnsaved() > 0 || isSpooled) flushSoon()
      })
    }, FLUSH_MS).unref()
  }

  function logDropped(): void {
    if (dropped === 0 || saving) return
    log.warn({ events: dropped }, 'call_events.dropped')
    dropped = 0
  }

  if (isSpooled) flushSoon()

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
      isClosed = true
      if (timer) clearTimeout(timer)
      await flushing
      await saving
      await saveAll()
      dropped += countUnsaved()
      logDropped()
    },
  }
}
