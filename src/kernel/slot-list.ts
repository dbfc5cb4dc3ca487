/**
 * Things that are added and removed with each request, such as the requests that are running.
 *
 * A `Set` or a `Map` does the same, but costs a busy process up to a tenth of its CPU time: V8 gives it a new table
 * after some removals, and the old table still refers to what it held. Once an old table has reached the old
 * generation, V8 keeps all later tables, with whole requests in them, until the next full garbage collection.
 */
export class SlotList<Item extends object> {
  readonly #slots: (Item | null)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#slots.length - this.#free.length
  }

  /** Adds an item; returns its slot. */
  add(item: Item): number {
    const slot = this.#free.pop() ?? this.#slots.length
    this.#slots[slot] = item
    return slot
  }

  at(slot: number): Item | null {
    return this.#slots[slot] ?? null
  }

  /** Removes an item from its slot. Does nothing when it was removed before: another item may have the slot. */
  remove(slot: number, item: Item): void {
    if (this.#slots[slot] !== item) return
    this.#slots[slot] = null
    this.#free.push(slot)
  }

  /** The items, in no certain order. */
  all(): Item[] {
    return this.#slots.filter((item) => item !== null)
  }
}
