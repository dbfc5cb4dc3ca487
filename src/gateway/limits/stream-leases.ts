import type { Redis } from 'ioredis'

/** Something that may have a limited number of streams open, in all processes together. */
type LeaseCounter = { readonly key: string; readonly max: number }

/**
 * Counts the open streams of all processes. Each stream has a lease that its process renews, so the streams of a
 * process that has died are no longer counted after a while.
 */
export type StreamLeases = {
  /**
   * Takes a lease in each counter, or in none. Returns the first counter that is full; null when there is none. While
   * Redis cannot be reached it returns null, and the lease is counted at its first renewal.
   */
  take<Counter extends LeaseCounter>(id: string, counters: readonly Counter[]): Promise<Counter | null>
  /** Gives a lease back. */
  give(id: string): void
  /** Stops the renewals. */
  close(): void
}

/** A lease in one counter that was given back. `endsAt`: when it ends by itself. */
type GivenBack = { readonly key: string; readonly id: string; readonly endsAt: number }

/** How long a lease is valid: the longest time that the streams of a dead process are counted. */
const LEASE_MS = 60_000
const RENEWALS_PER_LEASE = 3

/** Opens leases as sorted sets in Redis, one for each counter, with the end of each lease in milliseconds as score. */
export function openStreamLeases(redis: Redis, leaseMs = LEASE_MS): StreamLeases {
  const held = new Map<string, readonly string[]>()
  /** Those that Redis still counts, because it could not be reached. */
  let unreturned: GivenBack[] = []
  const timer = setInterval(() => {
    returnAgain()
    void renewAll()
  }, leaseMs / RENEWALS_PER_LEASE).unref()
  redis.on('ready', returnAgain)

  async function renewAll(): Promise<void> {
    const leases = [...held].flatMap(([id, keys]) => keys.map((key) => ({ key, id })))
    const byKey = Map.groupBy(leases, ({ key }) => key)
    const renewed = [...byKey].map(([key, own]) => redis.eval(RENEW, 1, key, leaseMs, ...own.map(({ id }) => id)))
    // A failed renewal is repeated at the next tick.
    await Promise.allSettled(renewed)
  }

  function give(id: string): void {
    const keys = held.get(id) ?? []
    held.delete(id)
    const endsAt = performance.now() + leaseMs
    giveBack(keys.map((key) => ({ key, id, endsAt })))
  }

  function giveBack(leases: readonly GivenBack[]): void {
    for (const [key, own] of Map.groupBy(leases, (lease) => lease.key)) {
      redis.zrem(key, ...own.map(({ id }) => id)).catch(() => unreturned.push(...own))
    }
  }

  function returnAgain(): void {
    const now = performance.now()
    const leases = unreturned.filter(({ endsAt }) => endsAt > now)
    unreturned = []
    giveBack(leases)
  }

  return {
    async take(id, counters) {
      if (counters.length === 0) return null
      const keys = counters.map(({ key }) => PREFIX + key)
      held.set(id, keys)
      const limits = counters.map(({ max }) => max)
      const full = await redis.eval(TAKE, keys.length, ...keys, leaseMs, id, ...limits).catch(() => 0)
      const counter = counters[Number(full) - 1] ?? null
      // A renewal may have added the lease while it was refused.
      if (counter) give(id)
      return counter
    },
    give,
    close() {
      clearInterval(timer)
      redis.off('ready', returnAgain)
    },
  }
}

const PREFIX = 'svc:streams:'

/** The clock of Redis counts, because the clocks of the processes may differ. */
const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/**
 * Returns the place of the first full counter, or 0 after it has added the lease to all of them. A lease that ends
 * later than one can is from before the clock of Redis was set back. Where its stream is open, its renewal adds it
 * again.
 */
const TAKE = `${NOW}
for place, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  redis.call('ZREMRANGEBYSCORE', key, '(' .. now + ARGV[1], '+inf')
  if redis.call('ZCARD', key) >= tonumber(ARGV[2 + place]) then return place end
end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, now + ARGV[1], ARGV[2])
  redis.call('PEXPIRE', key, ARGV[1])
end
return 0`

/** Adds leases that are missing, for example after Redis has restarted without its data. */
const RENEW = `${NOW}
for place = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[place]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])`
