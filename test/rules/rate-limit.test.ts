import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { combineLimits, networkKey, openRateLimits, tryTakeAll } from '../../src/http/rate-limit.ts'
import type { RateLimit } from '../../src/http/rate-limit.ts'

const open = openRateLimits(null)
let names = 0
const limitOf = (points: number) => open(`limit-${names++}`, { points, seconds: 60 })

/** A limit whose store answers after some milliseconds, each time after others. */
function slow(limit: RateLimit): RateLimit {
  const pause = () => sleep(1 + ((names++ * 7) % 20))
  const paused =
    <T>(run: (key: string) => Promise<T>) =>
    async (key: string) => {
      await pause()
      const result = await run(key)
      await pause()
      return result
    }
  return { take: paused(limit.take), tryTake: paused(limit.tryTake), refund: paused(limit.refund) }
}

async function passed(limit: RateLimit, callers: number): Promise<number> {
  const waits = await Promise.all(Array.from({ length: callers }, () => limit.tryTake('key')))
  return waits.filter((seconds) => seconds === 0).length
}

describe('a rate limit', () => {
  afterEach(() => void vi.useRealTimers())

  it('lets concurrent callers pass up to its points, whatever the delay of its store', async () => {
    expect(await passed(slow(limitOf(3)), 25)).toBe(3)
  })

  it('says how long to wait when it is reached', async () => {
    const limit = limitOf(1)
    await limit.take('key')
    expect(await limit.tryTake('key')).toBe(60)
    await expect(limit.take('key')).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 60 })
  })

  it('begins a new window after the clock of the machine was set back', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const limit = limitOf(1)
    await limit.take('key')
    vi.setSystemTime(Date.now() - 26 * 3_600_000)
    expect(await limit.tryTake('key')).toBe(0)
    expect(await limit.tryTake('key')).toBe(60)
  })

  it('refuses a caller who has to wait for a second, and counts nothing in other limits', async () => {
    const waiting: RateLimit = { take: async () => {}, tryTake: async () => 1, refund: async () => {} }
    const other = limitOf(1)
    await expect(combineLimits([waiting, other]).take('key')).rejects.toMatchObject({ retryAfterSeconds: 1 })
    expect(await other.tryTake('key')).toBe(0)
  })

  it('names what there was too much of, alone and combined', async () => {
    const logins = open('named', { points: 1, seconds: 60, what: 'logins from your network' })
    const mails = combineLimits([logins, limitOf(5)], 'emails to this address')
    await logins.take('key')
    const messages = [logins, mails].map((limit) => limit.take('key').catch((error: unknown) => String(error)))
    expect(await Promise.all(messages)).toEqual([
      expect.stringMatching(/^ApiError: Too many logins from your network\. Try again in \d+ s\.$/),
      expect.stringMatching(/^ApiError: Too many emails to this address\. Try again in \d+ s\.$/),
    ])
  })

  it('counts each key of each name separately', async () => {
    const [one, other] = [limitOf(1), limitOf(1)]
    await one.take('a')
    await one.take('b')
    await other.take('a')
    expect(await one.tryTake('a')).toBe(60)
  })

  it('counts no refused event, so that a refund makes room for one', async () => {
    const limit = limitOf(2)
    expect(await passed(limit, 10)).toBe(2)
    await limit.refund('key')
    expect(await passed(limit, 10)).toBe(1)
  })

  it('with 0 points refuses nothing', async () => {
    expect(await passed(limitOf(0), 100)).toBe(100)
  })
})

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::9', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
])('the network of %s is counted as %s', (ip, key) => expect(networkKey(ip)).toBe(key))

describe('limits that are combined', () => {
  it('let concurrent callers pass up to the smallest of them, whatever the delay of their stores', async () => {
    expect(await passed(combineLimits([slow(limitOf(5)), slow(limitOf(3))]), 25)).toBeLessThanOrEqual(3)
  })

  it('count an event in all of them or in none', async () => {
    const [large, small] = [limitOf(3), limitOf(1)]
    const both = combineLimits([large, small])
    expect([await passed(both, 1), await passed(both, 5)]).toEqual([1, 0])
    expect(await passed(large, 5)).toBe(2)
  })

  it('say the longest wait', async () => {
    const [minute, hour] = [limitOf(1), open('hour', { points: 1, seconds: 3600 })]
    const both = combineLimits([minute, hour])
    await both.take('key')
    expect(await both.tryTake('key')).toBe(3600)
  })

  it('give a refunded event back to each of them', async () => {
    const both = combineLimits([limitOf(1), limitOf(1)])
    await both.take('key')
    await both.refund('key')
    expect(await both.tryTake('key')).toBe(0)
  })

  it('may have a key for each of them', async () => {
    const counters = [
      { limit: limitOf(1), key: 'session' },
      { limit: limitOf(2), key: 'account' },
    ]
    expect([await tryTakeAll(counters), await tryTakeAll(counters)]).toEqual([0, 60])
  })
})
