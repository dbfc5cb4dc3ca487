import type { RequestHandler } from 'express'
import { ApiError } from '../http/errors.ts'
import { networkKey } from '../http/rate-limit.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import { ipOf } from '../http/request.ts'

/** Counts a request of a network before its caller is identified; throws `rate_limited` when there were too many. */
export function limitRequests(limit: RateLimit): RequestHandler {
  return async (req, _res, next) => {
    await limit.take(networkKey(ipOf(req)))
    next()
  }
}

/** Limits the streams that one network has open at the same time. */
export type StreamLimit = {
  /** Takes a slot for a stream of this address, or says that all are taken: `rate_limited`. */
  take(ip: string): StreamSlot | ApiError
  /** Streams that are open now, of all networks. */
  open(): number
}

export type StreamSlot = {
  /** Must be called once, when the stream has ended. */
  free(): void
}

/**
 * At most this many streams for each network; 0 is no limit. Each process counts its own streams: a count in another
 * place would outlive a crash of this process and stay wrong.
 */
export function makeStreamLimit(maxPerNetwork: number): StreamLimit {
  const taken = new Map<string, number>()
  let open = 0

  function free(key: string): void {
    const streams = taken.get(key) ?? 0
    if (streams > 1) taken.set(key, streams - 1)
    else taken.delete(key)
    open -= 1
  }

  return {
    take(ip) {
      const key = networkKey(ip)
      const streams = taken.get(key) ?? 0
      if (maxPerNetwork > 0 && streams >= maxPerNetwork) return tooMany(streams)
      taken.set(key, streams + 1)
      open += 1
      return { free: () => free(key) }
    },
    open: () => open,
  }
}

/**
 * `Retry-After` when all stream slots are taken: short enough to retry soon, long enough to avoid a thundering herd.
 */
const RETRY_AFTER_SECONDS = 5

function tooMany(streams: number): ApiError {
  return new ApiError('rate_limited', {
    message: `There are ${streams} streams open from your address, which is the limit. End one, or try again.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}
