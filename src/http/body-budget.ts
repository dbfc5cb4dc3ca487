import type { ServerResponse } from 'node:http'
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

/** Bounds the memory of the bodies that this process holds at the same time. */
export type BodyBudget = {
  /**
   * Counts a body as `after` bytes in place of `before`. Returns false, and changes nothing, when there is no room for
   * more. A body always has room when there is no other.
   */
  recount(before: number, after: number): boolean
}

/** Opens a budget of this many bytes. */
export function openBodyBudget(maxBytes: number): BodyBudget {
  let total = 0
  return {
    recount(before, after) {
      const others = total - before
      if (after > before && others > 0 && others + after > maxBytes) return false
      total = others + after
      return true
    },
  }
}

/** Smaller bodies are not counted, because their number is bounded by the connections of the process. */
const MIN_COUNTED_BYTES = 64 * 1024

/** One body in a budget. It counts once it is large, until it is released or its response closes. */
export class CountedBody {
  readonly #budget: BodyBudget
  readonly #res: Pick<ServerResponse, 'closed' | 'once'>
  #bytes = 0
  #isCounted = false
  #isReleased = false

  constructor(budget: BodyBudget, res: Pick<ServerResponse, 'closed' | 'once'>) {
    this.#budget = budget
    this.#res = res
  }

  /**
   * Counts it as this many bytes. Returns false, and changes nothing, when there is no room for more. Counts nothing
   * after `release`.
   */
  resize(bytes: number): boolean {
    if (this.#isReleased) return true
    // A closed response emits no further `close`, so the room would never be released. The caller may have left.
    if (!this.#isCounted && (bytes < MIN_COUNTED_BYTES || this.#res.closed)) return true
    if (!this.#budget.recount(this.#bytes, bytes)) return false
    this.#bytes = bytes
    if (!this.#isCounted) this.#res.once('close', () => this.release())
    this.#isCounted = true
    return true
  }

  /** May be called again, and before the body is read: its caller may leave meanwhile. */
  release(): void {
    this.#budget.recount(this.#bytes, 0)
    this.#bytes = 0
    this.#isReleased = true
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
