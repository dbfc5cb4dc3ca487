import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStreamLeases } from '../../src/gateway/limits/stream-leases.ts'
import { makeStreamLimit } from '../../src/gateway/limits/streams.ts'
import type { StreamSlot } from '../../src/gateway/limits/streams.ts'
import { ApiError } from '../../src/http/errors.ts'
import type { Caller } from '../../src/kernel/caller.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import type { TestRedis } from '../support/redis.ts'
import { waitForValue } from '../support/wait.ts'

const ADA: Caller = {
  accountId: 'ada',
  sessionId: 'session-1',
  sessionKind: 'device',
  organization: 'acme',
  team: '@acme/core',
  role: 'member',
  authenticatedAt: null,
}
const BOB: Caller = { ...ADA, accountId: 'bob' }
const OFFICE = '203.0.113.1'

const isTaken = (slot: StreamSlot | ApiError): slot is StreamSlot => !(slot instanceof ApiError)

describe('a stream limit', () => {
  it('counts each account and each network for itself, and frees both when a stream has ended', async () => {
    const limit = makeStreamLimit({ perCaller: 1, perAddress: 2, leases: null })
    const first = await limit.take(ADA, OFFICE)
    expect(await limit.take(ADA, '203.0.113.2')).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 5 })
    const second = await limit.take(BOB, OFFICE)
    expect(await limit.take({ ...ADA, accountId: 'eve' }, OFFICE)).toMatchObject({ code: 'rate_limited' })
    expect(limit.open()).toBe(2)
    for (const slot of [first, second]) if (isTaken(slot)) slot.free()
    expect(limit.open()).toBe(0)
    expect(isTaken(await limit.take(ADA, OFFICE))).toBe(true)
  })

  it('counts each API key for itself, apart from the account that owns it', async () => {
    const limit = makeStreamLimit({ perCaller: 1, perAddress: 0, leases: null })
    const withKey = (id: string): Caller => ({ ...ADA, key: { id, models: null, serviceAccount: null } })
    for (const caller of [ADA, withKey('1'), withKey('2')]) expect(isTaken(await limit.take(caller, OFFICE))).toBe(true)
    expect(await limit.take(withKey('1'), OFFICE)).toMatchObject({
      message: expect.stringContaining('of your API key'),
    })
  })

  it('of 0 refuses nothing', async () => {
    const limit = makeStreamLimit({ perCaller: 0, perAddress: 0, leases: null })
    for (let stream = 0; stream < 100; stream += 1) expect(isTaken(await limit.take(ADA, OFFICE))).toBe(true)
    expect(limit.open()).toBe(100)
  })
})

describe.skipIf(!hasRedis)('a stream limit that two processes share', () => {
  let redis: TestRedis
  const opened: { close(): void }[] = []

  beforeEach(async () => {
    redis = await startRedis()
  })
  afterEach(async () => {
    for (const one of opened.splice(0)) one.close()
    await redis[Symbol.asyncDispose]()
  })

  /** A limit of 2 streams for an account, as one process has it. */
  async function processOf(leaseMs?: number) {
    const client = new Redis(redis.url, { enableOfflineQueue: false, maxRetriesPerRequest: 1 })
    client.on('error', () => {})
    await new Promise((ready) => client.once('ready', ready))
    const leases = openStreamLeases(client, leaseMs)
    const end = () => {
      leases.close()
      client.disconnect()
    }
    opened.push({ close: end })
    return { client, limit: makeStreamLimit({ perCaller: 2, perAddress: 100, leases }), end }
  }

  /** Holds the answer to the next script back until another one has run. Resolves then. */
  function answersAfterNext(client: Redis): Promise<unknown> {
    const run = client.eval.bind(client) as (...given: unknown[]) => Promise<unknown>
    const next = Promise.withResolvers<unknown>()
    let scripts = 0
    Object.assign(client, {
      async eval(...given: unknown[]) {
        const isFirst = scripts++ === 0
        const answer = await run(...given)
        if (isFirst) await next.promise
        else next.resolve(answer)
        return answer
      },
    })
    return next.promise
  }

  it('counts the streams of both', async () => {
    const [one, two] = [await processOf(), await processOf()]
    const taken = await Promise.all([1, 2, 3, 4, 5, 6].map((nth) => (nth % 2 ? one : two).limit.take(ADA, OFFICE)))
    expect(taken.filter(isTaken)).toHaveLength(2)
    expect([one.limit.open() + two.limit.open()]).toEqual([2])
    expect(isTaken(await two.limit.take(BOB, OFFICE))).toBe(true)
    taken.find(isTaken)?.free()
    await waitForValue('a free slot', async () => isTaken(await two.limit.take(ADA, OFFICE)), true)
    expect(isTaken(await one.limit.take(ADA, OFFICE))).toBe(false)
  })

  it('does not count a stream that was refused while the leases were renewed', async () => {
    const [one, two] = [await processOf(900), await processOf(900)]
    const taken = [await one.limit.take(ADA, OFFICE), await one.limit.take(ADA, OFFICE)]
    expect(taken.filter(isTaken)).toHaveLength(2)
    const renewed = answersAfterNext(two.client)
    expect(isTaken(await two.limit.take(ADA, OFFICE))).toBe(false)
    await renewed
    expect(await two.client.zcard('svc:streams:account:ada')).toBe(2)
  })

  it('frees the slots of streams that have ended while Redis could not be reached, as soon as it can', async () => {
    const [one, two] = [await processOf(), await processOf()]
    const taken = [await one.limit.take(ADA, OFFICE), await one.limit.take(ADA, OFFICE)]
    expect(isTaken(await two.limit.take(ADA, OFFICE))).toBe(false)
    one.client.disconnect(true)
    for (const slot of taken) if (isTaken(slot)) slot.free()
    await waitForValue('a free slot', async () => isTaken(await two.limit.take(ADA, OFFICE)), true)
    expect(isTaken(await two.limit.take(ADA, OFFICE))).toBe(true)
  })

  it('forgets the streams of a process that has died, and keeps those of a living one', async () => {
    const [one, two] = [await processOf(300), await processOf(300)]
    await one.limit.take(ADA, OFFICE)
    await two.limit.take(ADA, OFFICE)
    one.end()
    await waitForValue('the slot of the dead process', async () => isTaken(await two.limit.take(ADA, OFFICE)), true)
    expect(isTaken(await two.limit.take(ADA, OFFICE))).toBe(false)
  })

  it('forgets leases from before the clock of Redis was set back', async () => {
    const { client, limit } = await processOf()
    const inAnHour = Date.now() + 3_600_000
    await client.zadd('svc:streams:account:ada', inAnHour, 'stream_1', inAnHour, 'stream_2')
    expect(isTaken(await limit.take(ADA, OFFICE))).toBe(true)
  })

  it('counts in each process while Redis cannot be reached, and together again after its restart', async () => {
    const [one, two] = [await processOf(300), await processOf(300)]
    await redis.stop()
    for (const { limit } of [one, two]) {
      const taken = await Promise.all([1, 2, 3].map(() => limit.take(ADA, OFFICE)))
      expect(taken.filter(isTaken)).toHaveLength(2)
    }
    await redis.restart()
    const third = await processOf(300)
    const wait = async () => {
      const slot = await third.limit.take(ADA, OFFICE)
      if (isTaken(slot)) slot.free()
      return isTaken(slot)
    }
    await waitForValue('the leases of both processes in the new Redis', wait, false, { intervalMs: 50 })
  })
})
