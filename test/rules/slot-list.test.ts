import { describe, expect, it } from 'vitest'
import { SlotList } from '../../src/kernel/slot-list.ts'

describe('a slot list', () => {
  it('has the items that were added and not removed', () => {
    const list = new SlotList<{ name: string }>()
    const [a, b] = [{ name: 'a' }, { name: 'b' }]
    const slotOfA = list.add(a)
    const slotOfB = list.add(b)
    expect([list.size, list.all(), list.at(slotOfA), list.at(slotOfB)]).toEqual([2, [a, b], a, b])
    list.remove(slotOfA, a)
    expect([list.size, list.all(), list.at(slotOfA)]).toEqual([1, [b], null])
  })

  it('uses the slots of removed items again, so that it does not grow with each request', () => {
    const list = new SlotList<object>()
    const slots = Array.from({ length: 100 }, () => {
      const item = {}
      const slot = list.add(item)
      list.remove(slot, item)
      return slot
    })
    expect(new Set(slots)).toEqual(new Set([0]))
  })

  it('keeps the item that has the slot of one that is removed twice', () => {
    const list = new SlotList<{ name: string }>()
    const [first, second] = [{ name: 'first' }, { name: 'second' }]
    const slot = list.add(first)
    list.remove(slot, first)
    expect(list.add(second)).toBe(slot)
    list.remove(slot, first)
    expect(list.all()).toEqual([second])
  })
})
