import { describe, expect, it } from 'vitest'
import { beginTimes, isOver, touchTimes } from '../../src/control/browser-session/rules.ts'

const START = Date.UTC(2026, 10, 21)
const at = (seconds: number) => new Date(START + seconds * 1000)
const HOUR = 3600
const begun = beginTimes(at(0))

describe('isOver', () => {
  it.each([
    ['new', 0, false],
    ['a millisecond before eight idle hours', 8 * HOUR - 0.001, false],
    ['after eight idle hours', 8 * HOUR, true],
  ])('%s', (_, seconds, over) => {
    expect(isOver(begun, at(seconds))).toBe(over)
  })

  it.each([
    ['a millisecond before a day', 24 * HOUR - 0.001, false],
    ['after a day, however it was used', 24 * HOUR, true],
  ])('%s', (_, seconds, over) => {
    expect(isOver({ ...begun, idleExpiresAt: at(30 * HOUR) }, at(seconds))).toBe(over)
  })
})

describe('touchTimes', () => {
  it('writes nothing for a use within a minute of the last', () => {
    expect(touchTimes(begun, at(59.999))).toBeNull()
  })
  it('begins the idle hours again after that', () => {
    expect(touchTimes(begun, at(60))).toEqual({ lastSeenAt: at(60), idleExpiresAt: at(60 + 8 * HOUR) })
  })
})
