import type { CallEvent, EventBatch } from '../usage/events.ts'
import { addSpending, sumSpending } from '../usage/spending-sums.ts'
import type { SpendingSum } from '../usage/spending-sums.ts'

/** What the calls of this process have spent and the sums of the database do not include yet. */
export type OwnSums = {
  /** Adds what a call has spent whose event is not saved yet. */
  add(sum: SpendingSum): void
  /** Notes which events are saved together. */
  noteBatch(batch: EventBatch): void
  /** Notes that a batch is saved, so that the next sums include it. */
  noteSaved(batch: Pick<EventBatch, 'id'>): void
  /**
   * Notes that a batch is not saved. Its events are counted as before, also when they are lost: their calls were paid
   * for, and a limit must hold when the events of a caller cannot be saved.
   */
  noteRefused(batch: EventBatch): void
  all(): readonly SpendingSum[]
  /**
   * The batches by their ids: those that are known to be saved, and the others. The database says which of these are
   * saved, and forgets that after some days. `teams`: those of all batches.
   */
  batches(): {
    readonly saved: readonly string[]
    readonly unknown: readonly string[]
    readonly teams: readonly string[]
  }
  /** Counts these batches no more, because the sums include them. */
  forget(batches: readonly string[]): void
}

export function makeOwnSums(): OwnSums {
  /** What is in no batch: it is not in one yet, or it is lost. What is lost stays until the process ends. */
  let unbatched = new Map<string, SpendingSum>()
  const byBatch = new Map<string, readonly SpendingSum[]>()
  const saved = new Set<string>()
  return {
    add: (sum) => addSpending(unbatched, sum),
    noteBatch({ id, events }) {
      const sums = sumCosts(events)
      if (sums.length === 0) return
      byBatch.set(id, sums)
      for (const sum of sums) addSpending(unbatched, sum, -1)
      unbatched = new Map([...unbatched].filter(([, { nanoUsd }]) => nanoUsd !== 0))
    },
    noteSaved({ id }) {
      if (byBatch.has(id)) saved.add(id)
    },
    noteRefused({ id, events }) {
      byBatch.delete(id)
      for (const sum of sumCosts(events)) addSpending(unbatched, sum)
    },
    all: () => [...unbatched.values(), ...[...byBatch.values()].flat()],
    batches: () => ({
      saved: [...saved],
      unknown: [...byBatch.keys()].filter((id) => !saved.has(id)),
      teams: [...byBatch.values()].flat().map(({ team }) => team),
    }),
    forget(batches) {
      for (const id of batches) {
        byBatch.delete(id)
        saved.delete(id)
      }
    },
  }
}

/** Sums the events of calls that cost something. */
function sumCosts(events: readonly CallEvent[]): readonly SpendingSum[] {
  return sumSpending(events).filter(({ nanoUsd }) => nanoUsd !== 0)
}
