import { expect, it } from 'vitest'
import { putNewest } from '../../src/kernel/bounded-map.ts'

it('keeps the newest entries of a map, and counts an entry that is put again as new', () => {
  const map = new Map<string, number>()
  for (const [at, key] of ['a', 'b', 'c', 'a', 'd'].entries()) putNewest(map, key, at, 3)
  expect([...map]).toEqual([
    ['c', 2],
    ['a', 3],
    ['d', 4],
  ])
})
