import { describe, expect, it } from 'vitest'
import {
  afterAnswer,
  afterFailure,
  afterStart,
  afterSuccess,
  CLOSED,
  isTripped,
} from '../../src/gateway/backends/breaker.ts'
import type { Breaker } from '../../src/gateway/backends/breaker.ts'

/** `started`: when a call whose answer begins has begun; its own second unless given. */
type Event = readonly [second: number, what: 'fails' | 'answers' | 'works' | 'starts', started?: number]

/** The breaker after these events, without jitter: a probe is due 30 seconds after the breaker has opened. */
function after(events: readonly Event[]): Breaker {
  return events.reduce((breaker: Breaker, [second, what, started = second]) => {
    if (what === 'fails') return afterFailure(breaker, second * 1000, 0.5)
    if (what === 'starts') return afterStart(breaker, second * 1000)
    return what === 'answers' ? afterAnswer(breaker, started * 1000) : afterSuccess(breaker)
  }, CLOSED)
}

const failing = (...seconds: number[]): Event[] => seconds.map((second) => [second, 'fails'])
const OPEN_AT_4 = failing(0, 1, 2, 3, 4)

describe('the circuit breaker', () => {
  it.each<[string, readonly Event[], number, Breaker['kind'], boolean]>([
    ['is closed before any call', [], 0, 'closed', false],
    ['stays closed after four failures', failing(0, 1, 2, 3), 3, 'closed', false],
    ['opens at the fifth failure within 30 seconds', OPEN_AT_4, 4, 'open', true],
    ['opens at five failures at once', failing(1, 1, 1, 1, 1), 1, 'open', true],
    ['forgets failures after 30 seconds', failing(0, 1, 2, 3, 30), 30, 'closed', false],
    [
      'stays closed where each call that works makes up for a failure',
      [...failing(0, 1), [2, 'works'], ...failing(3, 4, 5)],
      5,
      'closed',
      false,
    ],
    ['opens where more calls fail', [...failing(0, 1), [2, 'works'], ...failing(3, 4, 5, 6)], 6, 'open', true],
    [
      'does not count earlier calls that worked',
      [[0, 'works'], [0, 'works'], ...failing(1, 2, 3, 4, 5)],
      5,
      'open',
      true,
    ],
    [
      'opens where answers begin and then fail',
      [0, 1, 2, 3, 4].flatMap((at): Event[] => [
        [at, 'answers'],
        [at, 'fails'],
      ]),
      4,
      'open',
      true,
    ],
    ['closes when a call works that began while it is open', [...OPEN_AT_4, [10, 'answers', 9]], 10, 'closed', false],
    ['stays open until a probe is due', OPEN_AT_4, 33, 'open', true],
    ['lets a probe through when it is due', OPEN_AT_4, 34, 'open', false],
    ['lets one probe through at a time', [...OPEN_AT_4, [34, 'starts']], 35, 'half_open', true],
    ['lets the next probe through when one has no result', [...OPEN_AT_4, [34, 'starts']], 44, 'half_open', false],
    ['closes when the probe works', [...OPEN_AT_4, [34, 'starts'], [35, 'answers', 34]], 35, 'closed', false],
    [
      'closes when a call works that began after the probe',
      [...OPEN_AT_4, [34, 'starts'], [36, 'answers', 35]],
      36,
      'closed',
      false,
    ],
    [
      'is not closed by a call that began before the probe',
      [...OPEN_AT_4, [34, 'starts'], [35, 'answers', 33]],
      35,
      'half_open',
      true,
    ],
    [
      'closes when a slow probe works, although others have begun since',
      [...OPEN_AT_4, [34, 'starts'], [44, 'starts'], [45, 'answers', 34]],
      45,
      'closed',
      false,
    ],
    ['opens again when the probe fails', [...OPEN_AT_4, [34, 'starts'], [35, 'fails']], 64, 'open', true],
    ['is not closed by a call that began before', [...OPEN_AT_4, [10, 'answers', 3]], 10, 'open', true],
    ['does not wait longer because of calls that began before', [...OPEN_AT_4, [30, 'fails']], 34, 'open', false],
    ['is not changed by calls that start while it is open', [...OPEN_AT_4, [10, 'starts']], 10, 'open', true],
  ])('%s', (_name, events, second, kind, tripped) => {
    const breaker = after(events)
    expect([breaker.kind, isTripped(breaker, second * 1000)]).toEqual([kind, tripped])
  })

  it('probes between 22 and 38 seconds after it has opened, so that processes do not probe together', () => {
    const opened = (jitter: number) =>
      [0, 0, 0, 0, 0].reduce((breaker: Breaker, now) => afterFailure(breaker, now, jitter), CLOSED)
    expect(isTripped(opened(0), 22_499)).toBe(true)
    expect(isTripped(opened(0), 22_500)).toBe(false)
    expect(isTripped(opened(1), 37_499)).toBe(true)
    expect(isTripped(opened(1), 37_500)).toBe(false)
  })
})
