import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { newPatience, patienceHere, withPatience } from '../../src/database/time-budget.ts'

type Step = { readonly at: number; readonly begin?: string; readonly end?: string; readonly left?: number }

/** What is left at some moments of a story that begins with 1000 ms. */
function leftIn(story: readonly Step[]): (number | undefined)[] {
  let now = 0
  const patience = newPatience(1000, () => now)
  const ends = new Map<string, () => void>()
  return story.map(({ at, begin, end, left }) => {
    now = at
    if (begin) ends.set(begin, patience.beginWait())
    if (end) ends.get(end)?.()
    return left === undefined ? undefined : patience.leftMs()
  })
}

describe('patience', () => {
  it.each<[string, Step[]]>([
    [
      'runs out during a wait',
      [
        { at: 0, left: 1000 },
        { at: 500, begin: 'a' },
        { at: 800, left: 700 },
        { at: 1500, left: 0 },
        { at: 1600, left: -100 },
      ],
    ],
    [
      'is for all waits together, and not for what lies between them',
      [
        { at: 0, begin: 'a' },
        { at: 300, end: 'a' },
        { at: 9000, begin: 'b', left: 700 },
        { at: 9600, end: 'b', left: 100 },
        { at: 9999, left: 100 },
      ],
    ],
    [
      'counts waits side by side once, from the first to the last',
      [
        { at: 0, begin: 'a' },
        { at: 200, begin: 'b' },
        { at: 300, end: 'a', left: 700 },
        { at: 500, end: 'b', left: 500 },
        { at: 900, left: 500 },
      ],
    ],
    [
      'counts a wait once that is ended twice',
      [
        { at: 0, begin: 'a' },
        { at: 0, begin: 'b' },
        { at: 200, end: 'a' },
        { at: 200, end: 'a' },
        { at: 400, left: 600 },
      ],
    ],
  ])('%s', (_, story) => {
    expect(leftIn(story)).toEqual(story.map(({ left }) => left))
  })

  it('is a request’s own, in all that it awaits and nowhere else', async () => {
    const leftLater = async () => {
      await turn()
      return patienceHere()?.leftMs()
    }
    const both = await Promise.all([withPatience(1, leftLater), withPatience(2, leftLater)])
    expect(both).toEqual([1, 2])
    expect(patienceHere()).toBeUndefined()
  })
})
