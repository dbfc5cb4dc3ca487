import { isIPv6 } from 'node:net'
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import { ApiError } from './errors.ts'

/** Counts what happens under a key in a window of time that begins with the first. */
export type RateLimit = {
  /** Counts one more; throws `rate_limited` with how long to wait when that is too many. */
  take(key: string): Promise<void>
  /** Counts one more and refuses nothing. */
  note(key: string): Promise<void>
  /** How many seconds until the key may go on; 0 when it may now. Counts nothing. */
  waitSeconds(key: string): Promise<number>
}

/** So many in so many seconds; 0 is no limit at all. */
export type Rate = { readonly points: number; readonly seconds: number }

/** Opens a limit. The name keeps the keys of two limits apart. */
export type OpenRateLimit = (name: string, rate: Rate) => RateLimit

/**
 * Limits that count in this process, or in Redis for all processes together. While Redis is away each process counts for itself, so a
 * lost counter neither refuses everybody nor lets everybody through.
 */
export function rateLimits(redis: Redis | null): OpenRateLimit {
  return (name, { points, seconds }) => {
    if (points === 0) return NO_LIMIT
    const options = { keyPrefix: `svc:limit:${name}`, points, duration: seconds }
    const memory = new RateLimiterMemory(options)
    return toRateLimit(
      redis
        ? new RateLimiterRedis({
            ...options,
            storeClient: redis,
            rejectIfRedisNotReady: true,
            insuranceLimiter: memory,
          })
        : memory,
      points,
    )
  }
}

/** Several limits as one: all of them count, and the longest wait counts. */
export function together(limits: readonly RateLimit[]): RateLimit {
  const waitSeconds = async (key: string) =>
    Math.max(...(await Promise.all(limits.map((limit) => limit.waitSeconds(key)))))
  const note = async (key: string) => void (await Promise.all(limits.map((limit) => limit.note(key))))
  return {
    async take(key) {
      refuseIf(await waitSeconds(key))
      await note(key)
    },
    note,
    waitSeconds,
  }
}

/** Throws `rate_limited` when there is something to wait for. */
export function refuseIf(waitSeconds: number): void {
  if (waitSeconds > 0) throw new ApiError('rate_limited', { retryAfterSeconds: waitSeconds })
}

/** One key for a caller's network: an IPv4 address, or the /64 that one IPv6 customer has. */
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
  note: async () => undefined,
  waitSeconds: async () => 0,
}

function toRateLimit(limiter: RateLimiterAbstract, points: number): RateLimit {
  return {
    async take(key) {
      try {
        await limiter.consume(key)
      } catch (refused) {
        // What is refused is rejected with the counter, and only that.
        if (refused instanceof RateLimiterRes) return refuseIf(toSeconds(refused))
        throw refused instanceof Error ? refused : new Error('The limit could not be counted.')
      }
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
