import type { RequestHandler } from 'express'
import { ApiError } from '../../http/errors.ts'
import { networkKey, tryAgainAfter } from '../../http/rate-limit.ts'
import type { Rate, RateLimit } from '../../http/rate-limit.ts'
import { ipOf } from '../../http/request.ts'
import type { Caller } from '../../kernel/caller.ts'

/** The rate of the requests from one address. */
export function toAddressRate({ requestsPerMinute }: { readonly requestsPerMinute: number }): Rate {
  return { points: requestsPerMinute, seconds: 60, what: 'requests from your network' }
}

/** Counts a request of an address before its caller is identified; throws `rate_limited` when there were too many. */
export function limitAddresses(addresses: RateLimit): RequestHandler {
  return async (req, _res, next) => {
    await addresses.take(networkKey(ipOf(req)))
    next()
  }
}

/**
 * Counts a request of an identified caller; throws `rate_limited` when there were too many. A request that is refused
 * here is taken back from its address, so that one caller cannot use up what others at the same address share.
 */
export function limitCallers(callers: RateLimit, addresses: RateLimit): RequestHandler {
  return async (req, _res, next) => {
    const { caller } = req
    const waitSeconds = caller ? await callers.tryTake(limitKeyOf(caller)) : 0
    if (waitSeconds > 0) {
      await addresses.refund(networkKey(ipOf(req)))
      const holder = caller?.key ? 'API key' : 'account'
      throw new ApiError('rate_limited', {
        message: `Your ${holder} has made too many requests. ${tryAgainAfter(waitSeconds)}`,
        retryAfterSeconds: waitSeconds,
      })
    }
    next()
  }
}

/** The key under which the requests and streams of a caller are counted: its API key, else its account. */
export function limitKeyOf({ accountId, key }: Caller): string {
  return key ? `key:${key.id}` : `account:${accountId}`
}
