import { newIdentifier } from '../../kernel/identifier.ts'
import type { Logger } from '../../log.ts'
import type { CallEvent, EventBatch } from './events.ts'

type Needs = {
  /** Saves a batch, all of it or nothing; one that was saved already may come again. */
  readonly save: (batch: EventBatch) => Promise<void>
  /** The database is away, so the same batch may succeed later. Any other failure would come again each time. */
  readonly isDatabaseUnavailable: (error: unknown) => boolean
  readonly log: Logger
}

export type Recorder = {
  /** Takes an event and returns at once. */
  record(event: CallEvent): void
  /** Saves what is left, as far as the database is there, and ends. */
  close(): Promise<void>
}

const FLUSH_MS = 1000
const BATCH = 500
/** Some 20 MB: what a busy gateway sees in minutes. */
const MOST_WAITING = 50_000

/**
 * Saves events in batches, off the path of the calls: every second, or as soon as a batch is full. While the database is away the
 * events wait, up to a bound; beyond it the oldest that are in no batch yet go, and how many is logged.
 */
export function openRecorder({ save, isDatabaseUnavailable, log }: Needs, mostWaiting = MOST_WAITING): Recorder {
  let waiting: CallEvent[] = []
  /** On its way, or to be sent again: it stays as it is until it is saved or hopeless. */
  let batch: EventBatch | null = null
  let dropped = 0
  let saving: Promise<boolean> | null = null
  let timer: NodeJS.Timeout | null = null

  /** True: the batch is off the list, saved or hopeless. */
  function saveBatch(): Promise<boolean> {
    saving ??= saveFirst().finally(() => (saving = null))
    return saving
  }

  async function saveFirst(): Promise<boolean> {
    batch ??= { id: newIdentifier('batch_'), events: waiting.splice(0, BATCH) }
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
        tellDropped()
        if (countUnsaved() > 0) flushSoon()
      })
    }, FLUSH_MS).unref()
  }

  function tellDropped(): void {
    if (dropped === 0 || saving) return
    log.warn({ events: dropped }, 'call_events.dropped')
    dropped = 0
  }

  return {
    record(event) {
      waiting.push(event)
      if (waiting.length > mostWaiting) {
        // A tenth at once, because each cut copies the list.
        const excess = Math.max(1, Math.floor(mostWaiting / 10))
        waiting = waiting.slice(excess)
        dropped += excess
      }
      if (waiting.length === BATCH) void saveBatch()
      flushSoon()
    },
    async close() {
      if (timer) clearTimeout(timer)
      await saving
      await saveAll()
      dropped += countUnsaved()
      tellDropped()
    },
  }
}

/** Tells the log of each call that has ended, where there is no database for it. */
export function logCalls(log: Logger): (event: CallEvent) => void {
  return ({ kind, call, result }) => {
    if (!result) return
    const { caller, ...facts } = call
    const { accountId, team, sessionId: deviceSessionId } = caller
    const { usage, ...told } = result
    log.info({ ...facts, accountId, team, deviceSessionId, ...told, ...usage }, `call.${kind}`)
  }
}
