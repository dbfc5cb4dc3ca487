import type { Redis } from 'ioredis'
import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js'
import RateLimiterRedis from 'rate-limiter-flexible/lib/RateLimiterRedis.js'
import RateLimiterRes from 'rate-limiter-flexible/lib/RateLimiterRes.js'
import { networkOf } from '../kernel/network/ip-address.ts'
import { ApiError, toWholeSeconds } from './errors.ts'

/**
 * Counts events by key within a window of time that starts with the key's first event. Each call is one atomic step of
 * the counter, so that concurrent callers cannot pass the limit together. A caller who wants to count failures only
 * counts first and refunds on success.
 */
export type RateLimit = {
  /**
   * Counts one event. Throws `rate_limited` with the seconds to wait, and counts nothing, when the limit is reached.
   */
  take(key: string): Promise<void>
  /** Counts one event and returns 0; returns the seconds to wait, and counts nothing, when the limit is reached. */
  tryTake(key: string): Promise<number>
  /** Takes back one counted event. */
  refund(key: string): Promise<void>
}

export type Rate = {
  /** How many events are allowed in `seconds`; 0 is no limit. */
  readonly points: number
  readonly seconds: number
  /** What is counted, for the message of a refusal. */
  readonly what?: string
}

/** Opens a limit. The name separates the keys of different limits. */
export type OpenRateLimit = (name: string, rate: Rate) => RateLimit

/**
 * Makes limits that count in Redis for all processes, or in this process when there is no Redis. While Redis is
 * unavailable each process counts for itself.
 */
export function openRateLimits(redis: Redis | null): OpenRateLimit {
  return (name, { points, seconds, what }) => {
    if (points === 0) return NO_LIMIT
    const options = { keyPrefix: `svc:limit:${name}`, points, duration: seconds }
    const memory = new RateLimiterMemory(options)
    if (!redis) return toRateLimit(memory, seconds, what)
    const shared = { storeClient: redis, rejectIfRedisNotReady: true, insuranceLimiter: memory }
    return toRateLimit(new RateLimiterRedis({ ...options, ...shared }), seconds, what)
  }
}

/** Combines limits into one: an event counts in each of them or in none, and the longest wait applies. */
export function combineLimits(limits: readonly RateLimit[], what?: string): RateLimit {
  const counters = (key: string) => limits.map((limit) => ({ limit, key }))
  const counted = {
    tryTake: (key: string) => tryTakeAll(counters(key)),
    refund: (key: string) => refundAll(counters(key)),
  }
  return withTake(counted, what)
}

/** A limit and the key that an event has in it. */
export type Counter = { readonly limit: RateLimit; readonly key: string }

/**
 * Counts one event in every counter and returns 0; returns the longest wait in seconds, and counts in none, when one is
 * at its limit.
 */
export async function tryTakeAll(counters: readonly Counter[]): Promise<number> {
  const waits = await Promise.all(counters.map(async ({ limit, key }) => limit.tryTake(key)))
  const longest = Math.max(0, ...waits)
  if (longest > 0) await refundAll(counters.filter((_, index) => waits[index] === 0))
  return longest
}

/** Takes back one event that was counted in every counter. */
export async function refundAll(counters: readonly Counter[]): Promise<void> {
  await Promise.all(counters.map(async ({ limit, key }) => limit.refund(key)))
}

/** Adds `take`, which throws where `tryTake` returns how long to wait. */
function withTake(limit: Omit<RateLimit, 'take'>, what = 'requests'): RateLimit {
  return {
    ...limit,
    async take(key) {
      const waitSeconds = await limit.tryTake(key)
      if (waitSeconds > 0) throw tooMany(what, waitSeconds)
    },
  }
}

/** The refusal of a request because there were too many of something, such as `logins from your network`. */
export function tooMany(what: string, retryAfterSeconds: number): ApiError {
  return new ApiError('rate_limited', {
    message: `Too many ${what}. ${tryAgainAfter(retryAfterSeconds)}`,
    retryAfterSeconds,
  })
}

/** Says when to try again. Agents show the message and not the header `Retry-After`. */
export function tryAgainAfter(seconds: number): string {
  return `Try again in ${toWholeSeconds(seconds)} s.`
}

/** The key of a client's network: its IPv4 address, or the /64 of its IPv6 address, which one customer has. */
export function networkKey(ip: string): string {
  // Most addresses are IPv4, and this runs for every call.
  return ip.includes(':') ? networkOf(ip, { ipv4Numbers: 4, ipv6Groups: 4 }) : ip
}

const NO_LIMIT: RateLimit = {
  take: async () => undefined,
  tryTake: async () => 0,
  refund: async () => undefined,
}

function toRateLimit(limiter: RateLimiterAbstract, seconds: number, what: string | undefined): RateLimit {
  /** The clock of this machine or of Redis was set back, and the window would last for longer by as much. */
  async function beginAnew(key: string): Promise<number> {
    await limiter.delete(key)
    return counted.tryTake(key)
  }

  const counted: Omit<RateLimit, 'take'> = {
    async tryTake(key) {
      try {
        await limiter.consume(key)
        return 0
      } catch (refused) {
        // The library rejects with the counter when the limit is reached, and with an Error when counting failed.
        if (!(refused instanceof RateLimiterRes))
          throw refused instanceof Error ? refused : new Error('The limit could not be counted.')
        if (refused.msBeforeNext > seconds * 1000) return beginAnew(key)
        // The library has also counted the refused event. Left there, it would use up what others refund.
        await limiter.reward(key)
        return toWholeSeconds(refused.msBeforeNext / 1000)
      }
    },
    async refund(key) {
      await limiter.reward(key)
    },
  }
  return withTake(counted, what)
}
