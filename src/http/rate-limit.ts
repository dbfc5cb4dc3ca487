import { isIPv6 } from 'node:net'
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import { ApiError } from './errors.ts'

/** Counts events by key within a window of time that starts with the key's first event. */
export type RateLimit = {
  /**
   * Counts one event and decides by the same count, so that parallel events cannot pass together. Throws `rate_limited`
   * with the seconds to wait when the limit is exceeded.
   */
  take(key: string): Promise<void>
  /** Takes back an event that `take` counted, for example a guess that was right. */
  refund(key: string): Promise<void>
  /** Counts one event and never refuses. */
  note(key: string): Promise<void>
  /** The seconds until the key may continue; 0 when it may now. Counts nothing. */
  waitSeconds(key: string): Promise<number>
}

/** `points` events in `seconds`; 0 points mean no limit. */
export type Rate = { readonly points: number; readonly seconds: number }

/** Opens a limit. The name separates the keys of different limits. */
export type OpenRateLimit = (name: string, rate: Rate) => RateLimit

/**
 * Makes limits that count in Redis for all processes, or in this process when there is no Redis. While Redis is away
 * each process counts for itself.
 */
export function rateLimits(redis: Redis | null): OpenRateLimit {
  return (name, { points, seconds }) => {
    if (points === 0) return NO_LIMIT
    const options = { keyPrefix: `svc:limit:${name}`, points, duration: seconds }
    const memory = new RateLimiterMemory(options)
    if (!redis) return toRateLimit(memory, points)
    const shared = { storeClient: redis, rejectIfRedisNotReady: true, insuranceLimiter: memory }
    return toRateLimit(new RateLimiterRedis({ ...options, ...shared }), points)
  }
}

/**
 * Combines limits into one. Each of them counts an event, and the longest wait applies. An event that one of them
 * refuses is refunded to all, so a refusal does not use up the longer limit.
 */
export function combineLimits(limits: readonly RateLimit[]): RateLimit {
  const forAll = async (run: (limit: RateLimit) => Promise<void>) => void (await Promise.all(limits.map(run)))
  return {
    async take(key) {
      const taken = await Promise.allSettled(limits.map((limit) => limit.take(key)))
      const refusals = taken.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
      if (refusals.length === 0) return
      await forAll((limit) => limit.refund(key))
      throw longestWait(refusals)
    },
    refund: (key) => forAll((limit) => limit.refund(key)),
    note: (key) => forAll((limit) => limit.note(key)),
    waitSeconds: async (key) => Math.max(...(await Promise.all(limits.map((limit) => limit.waitSeconds(key))))),
  }
}

/** The refusal with the longest wait; an error that is no refusal comes first. */
function longestWait(errors: readonly unknown[]): unknown {
  const secondsOf = (error: unknown) => (error instanceof ApiError ? (error.retryAfterSeconds ?? 0) : Infinity)
  return errors.toSorted((a, b) => secondsOf(b) - secondsOf(a))[0]
}

function refuseIf(waitSeconds: number): void {
  if (waitSeconds > 0) throw new ApiError('rate_limited', { retryAfterSeconds: waitSeconds })
}

/** The key of a client's network: its IPv4 address, or the /64 of its IPv6 address, which one customer has. */
export function networkKey(ip: string): string {
  if (!ip.includes(':')) return ip
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1] ?? ip
  if (!isIPv6(mapped)) return mapped
  const [head = '', tail] = mapped.split('::')
  const left = head.split(':').filter(Boolean)
  const right = (tail ?? '').split(':').filter(Boolean)
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}

const NO_LIMIT: RateLimit = {
  take: async () => undefined,
  refund: async () => undefined,
  note: async () => undefined,
  waitSeconds: async () => 0,
}

function toRateLimit(limiter: RateLimiterAbstract, points: number): RateLimit {
  return {
    async take(key) {
      try {
        await limiter.consume(key)
      } catch (refused) {
        // The library rejects with the counter when the limit is exceeded, and with an Error when counting failed.
        if (refused instanceof RateLimiterRes) return refuseIf(toSeconds(refused))
        throw refused instanceof Error ? refused : new Error('The limit could not be counted.')
      }
    },
    async refund(key) {
      await limiter.reward(key)
    },
    async note(key) {
      await limiter.penalty(key)
    },
    async waitSeconds(key) {
      const counted = await limiter.get(key)
      return counted && counted.consumedPoints >= points && counted.msBeforeNext > 0 ? toSeconds(counted) : 0
    },
  }
}

function toSeconds({ msBeforeNext }: RateLimiterRes): number {
  return Math.max(1, Math.ceil(msBeforeNext / 1000))
}
