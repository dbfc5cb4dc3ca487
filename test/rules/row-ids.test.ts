import { expect, it } from 'vitest'
import { newRowId, newRowIds } from '../../src/kernel/identifier.ts'

it('makes ids of rows that are different, ascending, and UUIDs of version 7', () => {
  const ids = newRowIds(5000, new Date('2026-01-05T09:00:00Z'))
  expect(new Set(ids).size).toBe(5000)
  expect(ids).toEqual(ids.toSorted())
  expect(ids.filter((id) => !/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toEqual([])
  const later = newRowIds(1, new Date('2026-01-05T09:00:00.001Z'))
  expect([...later, ...ids].toSorted().at(-1)).toBe(later[0])
})

it('makes single ids in ascending order, also within a millisecond', () => {
  const times = [0, 0, 0, 1, 1].map((ms) => new Date(Date.UTC(2026, 0, 5) + ms))
  const ids = times.map(newRowId)
  expect(ids).toEqual(ids.toSorted())
  expect(new Set(ids).size).toBe(5)
})
