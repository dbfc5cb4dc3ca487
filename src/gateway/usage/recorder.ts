import { newIdentifier } from '../../kernel/identifier.ts'
import type { CallEvent, EventBatch } from './events.ts'
import { makeSaveBatch } from './save-batch.ts'
import type { SaveNeeds } from './save-batch.ts'
import type { Spool } from './spool.ts'

type Needs = SaveNeeds & {
  /** Keeps batches while the database cannot save them; null: they wait in memory. */
  readonly spool: Spool | null
}

export type EventRecorder = {
  /** Takes an event and returns at once. */
  record(event: CallEvent): void
  /** Saves what is left, in the spool where the database cannot save it, and ends. */
  close(): Promise<void>
}

/** Short, because people who follow a session wait for it. */
const FLUSH_MS = 500
const MAX_BATCH = 500
/** About 20 MB. A busy gateway produces as many events in some minutes. */
const MAX_WAITING = 50_000

/**
 * Saves events in batches, outside of the calls: twice a second, or as soon as a batch is full. While the database
 * cannot save them, events wait in the spool, or in memory where there is none or it is full. When too many wait in
 * memory, the oldest that are in no batch yet are dropped, and the log says how many. What an earlier process left in
 * the spool is saved first.
 */
export function openRecorder(needs: Needs, maxWaiting = MAX_WAITING): EventRecorder {
  const { onBatch, onLost, spool, log } = needs
  const saveOrDivide = makeSaveBatch(needs)
  /** The events that are in no batch yet. */
  let waiting: CallEvent[] = []
  /** The batches that are being saved or wait for a retry. A batch does not change until it is saved or refused. */
  let batches: readonly EventBatch[] = []
  let dropped = 0
  /** The spool may hold batches. */
  let isSpooled = spool !== null
  let saving: Promise<boolean> | null = null
  let savingSpooled: Promise<void> | null = null
  let flushing: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | null = null
  let isClosed = false

  /** Saves the next batch. Resolves with false when the database cannot save it now; the batch then waits. */
  function saveBatch(): Promise<boolean> {
    saving ??= saveNext().finally(() => (saving = null))
    return saving
  }

  async function saveNext(): Promise<boolean> {
    const left = await saveOrDivide(nextBatch())
    batches = [...left, ...batches.slice(1)]
    if (left.length > 0) await spoolAll()
    return left.length === 0
  }

  function nextBatch(): EventBatch {
    const [next = cutBatch(), ...others] = batches
    batches = [next, ...others]
    return next
  }

  function cutBatch(): EventBatch {
    const next = { id: newIdentifier('batch_'), events: waiting.splice(0, MAX_BATCH) }
    onBatch(next)
    return next
  }

  async function spoolAll(): Promise<void> {
    while (spool && countUnsaved() > 0) {
      if (!(await spool.write(nextBatch()))) return
      batches = batches.slice(1)
      isSpooled = true
    }
  }

  /** Saves the batches in the spool. That can take longer than the time between two flushes. */
  function saveSpooled(): Promise<void> {
    savingSpooled ??= saveEachSpooled().finally(() => (savingSpooled = null))
    return savingSpooled
  }

  async function saveEachSpooled(): Promise<void> {
    while (spool && isSpooled && !isClosed) {
      const next = await spool.readOldest()
      if (next === 'none') isSpooled = false
      // A batch that stays is read again, so without this end it would be saved in an endless loop.
      else if (next === 'failed' || !(await saveAndRemove(spool, next))) return
    }
  }

  /** Resolves with false when something of the batch stays in the spool. */
  async function saveAndRemove(from: Spool, batch: EventBatch): Promise<boolean> {
    const left = await saveOrDivide(batch)
    if (left.includes(batch)) return false
    // Parts that wait take the place of their batch: its other parts would be refused, and counted as lost, once more.
    for (const part of left) if (!(await from.write(part))) return false
    return (await from.remove(batch)) && left.length === 0
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
    } while (batches.length > 0 || waiting.length >= MAX_BATCH)
    await saveSpooled()
  }

  function countUnsaved(): number {
    return batches.reduce((sum, { events }) => sum + events.length, waiting.length)
  }

  function flushSoon(): void {
    if (isClosed) return
    timer ??= setTimeout(() => {
      timer = null
      flushing = flush().then(() => {
        reportDropped()
        if (countUnsaved() > 0 || isSpooled) flushSoon()
      })
    }, FLUSH_MS).unref()
  }

  function reportDropped(): void {
    if (dropped === 0 || saving) return
    log.warn({ events: dropped }, 'call_events.dropped')
    onLost(dropped, 'dropped')
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
      reportDropped()
    },
  }
}
