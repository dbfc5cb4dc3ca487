import type { Logger } from '../../log.ts'
import type { CallEvent, EventBatch } from './events.ts'

/** Why events are lost: too many waited while the database was unavailable, or the database refused them. */
export type Loss = 'dropped' | 'refused'

export type SaveNeeds = {
  /** Saves all of a batch or nothing. Called again with a batch that may have been saved. */
  readonly save: (batch: EventBatch) => Promise<void>
  /** Called with each new batch, before it is saved for the first time. */
  readonly onBatch: (batch: EventBatch) => void
  /** Called with a batch that the database has refused, before its halves become new batches. */
  readonly onRefused: (batch: EventBatch) => void
  readonly onLost: (events: number, loss: Loss) => void
  /** Whether the same batch may be saved later, after this error of the database. Other errors are permanent. */
  readonly mayWriteLater: (error: unknown) => boolean
  readonly log: Logger
}

/** Saves a batch. Resolves with what may be saved later, in batches; with none when all is saved or lost. */
type SaveBatch = (batch: EventBatch) => Promise<readonly EventBatch[]>

/** The events of a batch that are lost, and the last error of the database. */
type Refused = { readonly events: CallEvent[]; err: unknown }

/**
 * When this number of events of a batch is lost, the database probably refuses every event. Parts of `MAX_LOST_PART`
 * events are then not divided any more, so a batch of 500 takes at most 79 statements, and not 999.
 */
const MAX_FOUND_ALONE = 8
const MAX_LOST_PART = 16

/**
 * Makes the function that saves a batch. When the database refuses a batch, its halves are saved instead, and so on, so
 * that few events beside those that the database refuses are lost.
 */
export function makeSaveBatch(needs: SaveNeeds): SaveBatch {
  const { save, onBatch, onRefused, onLost, mayWriteLater, log } = needs
  let isWaiting = false

  async function saveOrDivide(batch: EventBatch, refused: Refused): Promise<readonly EventBatch[]> {
    try {
      await save(batch)
      if (isWaiting) log.info({}, 'call_events.saved')
      isWaiting = false
      return []
    } catch (err) {
      if (mayWriteLater(err)) {
        // Logged once, not at each attempt.
        if (!isWaiting) log.warn({ err }, 'call_events.waiting')
        isWaiting = true
        return [batch]
      }
      onRefused(batch)
      if (batch.events.length > maxLost(refused)) return saveHalves(batch, refused)
      refused.events.push(...batch.events)
      refused.err = err
      return []
    }
  }

  async function saveHalves(batch: EventBatch, refused: Refused): Promise<readonly EventBatch[]> {
    const left: EventBatch[] = []
    for (const half of halve(batch)) {
      onBatch(half)
      if (left.length > 0) left.push(half)
      else left.push(...(await saveOrDivide(half, refused)))
    }
    return left
  }

  return async (batch) => {
    const refused: Refused = { events: [], err: null }
    const left = await saveOrDivide(batch, refused)
    const { events, err } = refused
    if (events.length > 0) {
      const requestIds = events.slice(0, MAX_FOUND_ALONE).map(({ call }) => call.requestId)
      log.error({ err, events: events.length, requestIds }, 'call_events.refused')
      onLost(events.length, 'refused')
    }
    return left
  }
}

/** The size of a refused part that is lost as a whole. */
function maxLost({ events }: Refused): number {
  return events.length < MAX_FOUND_ALONE ? 1 : MAX_LOST_PART
}

/** The same batch always has the same halves with the same ids, so a half that is saved again changes nothing. */
function halve({ id, events }: EventBatch): readonly EventBatch[] {
  const middle = Math.ceil(events.length / 2)
  return [
    { id: `${id}.1`, events: events.slice(0, middle) },
    { id: `${id}.2`, events: events.slice(middle) },
  ]
}
