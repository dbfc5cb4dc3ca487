import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ApiError } from '../../src/http/errors.ts'
import { combineLimits, rateLimits } from '../../src/http/rate-limit.ts'
import type { RateLimit } from '../../src/http/rate-limit.ts'

/** A limit whose store answers after a millisecond, as Redis does. */
function slow(limit: RateLimit): RateLimit {
  return {
    take: (key) => sleep(1).then(() => limit.take(key)),
    refund: (key) => sleep(1).then(() => limit.refund(key)),
    note: (key) => sleep(1).then(() => limit.note(key)),
    waitSeconds: (key) => sleep(1).then(() => limit.waitSeconds(key)),
  }
}

const open = rateLimits(null)
const short = (points: number) => slow(open('short', { points, seconds: 60 }))
const long = (points: number) => slow(open('long', { points, seconds: 600 }))

async function outcomes(limit: RateLimit, count: number): Promise<string[]> {
  const taken = await Promise.allSettled(Array.from({ length: count }, () => limit.take('ada')))
  return taken.map((one) => (one.status === 'fulfilled' ? 'taken' : (one.reason as ApiError).code))
}

describe('combineLimits', () => {
  it('lets no more events pass than the smallest limit when they are parallel and the store is slow', async () => {
    const counted = await outcomes(combineLimits([short(3), long(10)]), 25)
    expect(counted.filter((outcome) => outcome === 'taken')).toHaveLength(3)
    expect(counted.filter((outcome) => outcome === 'rate_limited')).toHaveLength(22)
  })

  it('does not count refused events in any of the limits', async () => {
    const day = long(10)
    await outcomes(combineLimits([short(3), day]), 25)
    expect(await outcomes(day, 8)).toEqual([...Array.from({ length: 7 }, () => 'taken'), 'rate_limited'])
  })

  it('names the longest wait when several limits refuse', async () => {
    const limit = combineLimits([short(1), long(1)])
    await limit.take('ada')
    const refusal = await limit.take('ada').catch((error: unknown) => error)
    expect((refusal as ApiError).retryAfterSeconds).toBeGreaterThan(60)
  })

  it('gives a refunded event back to all limits', async () => {
    const limit = combineLimits([short(1), long(1)])
    await limit.take('ada')
    await limit.refund('ada')
    await expect(limit.take('ada')).resolves.toBeUndefined()
  })
})
