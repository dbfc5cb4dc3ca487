import { describe, expect, it } from 'vitest'
import { beginTimes, isOver, touchTimes } from '../../src/control/browser-session/rules.ts'

const START = Date.UTC(2026, 10, 21)
const at = (seconds: number) => new Date(START + seconds * 1000)
const HOUR = 3600
const begun = { ...beginTimes(at(0)), lastSeenAt: at(0) }

describe('isOver', () => {
  it.each([
    ['a new session is not over', 0, false],
    ['a session 1 ms before eight idle hours is not over', 8 * HOUR - 0.001, false],
    ['a session after eight idle hours is over', 8 * HOUR, true],
  ])('%s', (_, seconds, over) => {
    expect(isOver(begun, at(seconds))).toBe(over)
  })

  it.each([
    ['a used session 1 ms before a day is not over', 24 * HOUR - 0.001, false],
    ['a used session after a day is over', 24 * HOUR, true],
  ])('%s', (_, seconds, over) => {
    expect(isOver({ ...begun, idleExpiresAt: at(30 * HOUR) }, at(seconds))).toBe(over)
  })
})

describe('touchTimes', () => {
  it('is null for a use within a minute of the last one', () => {
    expect(touchTimes(begun, at(59.999))).toBeNull()
  })
  it('starts the idle hours again after a minute', () => {
    expect(touchTimes(begun, at(60))).toEqual({ lastSeenAt: at(60), idleExpiresAt: at(60 + 8 * HOUR) })
  })
})
