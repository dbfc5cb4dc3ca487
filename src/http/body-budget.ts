import type { ServerResponse } from 'node:http'
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

/** The bytes of one body that a budget counts. */
export type HeldBytes = {
  /**
   * Counts another number of bytes. Returns false, and changes nothing, when there is no room for more. Counts nothing
   * after `release`.
   */
  resize(bytes: number): boolean
  /** Gives them back. May be called again, and before the body is read: its caller may leave meanwhile. */
  release(): void
}

/** Bounds the memory of the bodies that this process holds at the same time. */
export type BodyBudget = {
  /** Counts a body; null when there is no room for it. A body always has room when there is no other. */
  take(bytes: number): HeldBytes | null
}

/** Opens a budget of this many bytes. */
export function openBodyBudget(maxBytes: number): BodyBudget {
  let total = 0
  return {
    take(bytes) {
      let held = 0
      let isReleased = false
      const resize = (size: number) => {
        if (isReleased) return true
        const others = total - held
        if (size > held && others > 0 && others + size > maxBytes) return false
        total = others + size
        held = size
        return true
      }
      const release = () => {
        resize(0)
        isReleased = true
      }
      return resize(bytes) ? { resize, release } : null
    },
  }
}

/** Smaller bodies are not counted, because their number is bounded by the connections of the process. */
const MIN_COUNTED_BYTES = 64 * 1024

/** The share of one body in a budget. Small bodies are not counted, nor those whose response has closed. */
export class CountedBody {
  readonly #budget: BodyBudget
  readonly #res: Pick<ServerResponse, 'closed' | 'once'>
  #held: HeldBytes | null = null

  constructor(budget: BodyBudget, res: Pick<ServerResponse, 'closed' | 'once'>) {
    this.#budget = budget
    this.#res = res
  }

  /** Counts it as this many bytes. Returns false, and changes nothing, when there is no room for more. */
  resize(bytes: number): boolean {
    if (this.#held) return this.#held.resize(bytes)
    // A closed response emits no further `close`, so the room would never be released. The caller may have left.
    if (bytes < MIN_COUNTED_BYTES || this.#res.closed) return true
    this.#held = this.#budget.take(bytes)
    if (this.#held) this.#res.once('close', this.#held.release)
    return this.#held !== null
  }

  release(): void {
    this.#held?.release()
  }
}

/**
 * A quarter of the memory that each of these processes may use, in bytes, and of the heap of V8, which each has for
 * itself. A body takes about twice its size: as bytes, and parsed, which is in the heap.
 */
export function defaultBodyBudget(processes: number): number {
  // 0 where the operating system sets no limit, or a limit that is larger than the memory.
  const limit = process.constrainedMemory()
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return Math.floor(Math.min(memory / processes, getHeapStatistics().heap_size_limit) / 4)
}
