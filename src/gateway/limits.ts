import type { RequestHandler } from 'express'
import { ApiError } from '../http/errors.ts'
import { networkKey } from '../http/rate-limit.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import { ipOf } from '../http/request.ts'

/** Counts a request of a network before anybody asks who makes it; throws `rate_limited` when there were too many. */
export function limitRequests(limit: RateLimit): RequestHandler {
  return async (req, _res, next) => {
    await limit.take(networkKey(ipOf(req)))
    next()
  }
}

/** Streams that are open at once. */
export type StreamSlots = {
  /** Serves a stream of a network in a slot of its own, which is free again however that ends; throws `rate_limited` when there is none. */
  hold(ip: string, serve: () => Promise<void>): Promise<void>
  /** Of all networks. */
  open(): number
}

/** Nobody knows when a stream ends. Soon enough for one that ends, late enough not to be a storm. */
const RETRY_AFTER_SECONDS = 5

/**
 * So many slots for each network; 0 is no bound. Each process counts its own streams: a count in another place would have to outlive this
 * process, and would then be wrong for ever after a crash.
 */
export function streamSlots(mostPerNetwork: number): StreamSlots {
  const taken = new Map<string, number>()
  let open = 0

  function take(key: string): void {
    const streams = taken.get(key) ?? 0
    if (mostPerNetwork > 0 && streams >= mostPerNetwork) {
      throw new ApiError('rate_limited', {
        message: `There are ${streams} streams open from your address, which is the limit. End one, or try again.`,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
    }
    taken.set(key, streams + 1)
    open += 1
  }

  function free(key: string): void {
    const streams = taken.get(key) ?? 0
    if (streams > 1) taken.set(key, streams - 1)
    else taken.delete(key)
    open -= 1
  }

  return {
    async hold(ip, serve) {
      const key = networkKey(ip)
      take(key)
      try {
        await serve()
      } finally {
        free(key)
      }
    },
    open: () => open,
  }
}
