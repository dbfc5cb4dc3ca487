import type { Logger } from '../../log.ts'
import type { EventBatch } from './events.ts'

/** Why events are lost: too many waited while the database was away, or the database refused them. */
export type Loss = 'dropped' | 'refused'

export type SaveNeeds = {
  /** Saves all of a batch or nothing. Called again with a batch that may have been saved. */
  readonly save: (batch: EventBatch) => Promise<void>
  /** Called with each new batch, before it is saved for the first time. */
  readonly onBatch: (batch: EventBatch) => void
  /** Called with a batch that the database has refused, before its halves become new batches. */
  readonly onRefused: (batch: EventBatch) => void
  readonly onLost: (events: number, loss: Loss) => void
  /** Whether the database cannot be reached, so that the same batch may succeed later. Other failures are permanent. */
  readonly isDatabaseUnavailable: (error: unknown) => boolean
  readonly log: Logger
}

/** Saves a batch. Resolves with what is left because the database cannot be reached, in batches; else with none. */
type SaveBatch = (batch: EventBatch) => Promise<readonly EventBatch[]>

/**
 * Makes the function that saves a batch. When the database refuses a batch, its halves are saved instead, and so on, so
 * that an event that the database refuses is the only one that is lost.
 */
export function makeSaveBatch(needs: SaveNeeds): SaveBatch {
  const { save, onBatch, onRefused, onLost, isDatabaseUnavailable, log } = needs

  async function saveBatch(batch: EventBatch): Promise<readonly EventBatch[]> {
    try {
      await save(batch)
      return []
    } catch (err) {
      if (isDatabaseUnavailable(err)) return [batch]
      onRefused(batch)
      if (batch.events.length > 1) return saveHalves(batch)
      for (const { kind, call } of batch.events) {
        log.error({ err, requestId: call.requestId, kind }, 'call_events.refused')
        onLost(1, 'refused')
      }
      return []
    }
  }

  async function saveHalves(batch: EventBatch): Promise<readonly EventBatch[]> {
    const left: EventBatch[] = []
    for (const half of halve(batch)) {
      onBatch(half)
      if (left.length > 0) left.push(half)
      else left.push(...(await saveBatch(half)))
    }
    return left
  }

  return saveBatch
}

/** The same batch always has the same halves with the same ids, so a half that is saved again changes nothing. */
function halve({ id, events }: EventBatch): readonly EventBatch[] {
  const middle = Math.ceil(events.length / 2)
  return [
    { id: `${id}.1`, events: events.slice(0, middle) },
    { id: `${id}.2`, events: events.slice(middle) },
  ]
}
