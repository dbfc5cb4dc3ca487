import { ApiError } from '../../http/errors.ts'
import { networkKey } from '../../http/rate-limit.ts'
import type { Caller } from '../../kernel/caller.ts'
import { newIdentifier } from '../../kernel/identifier.ts'
import { limitKeyOf } from './requests.ts'
import type { StreamLeases } from './stream-leases.ts'

/** Limits the streams that one caller, and one address, have open at the same time. */
export type StreamLimit = {
  /** Takes a slot for a stream, or returns the refusal when all slots are taken: `rate_limited`. Never rejects. */
  take(caller: Caller, ip: string): Promise<StreamSlot | ApiError>
  /** The streams that are open in this process. */
  open(): number
}

export type StreamSlot = {
  /** Must be called once, when the stream has ended. */
  free(): void
}

type Needs = {
  /** The limits for one caller and for one address; 0 is no limit. */
  readonly perCaller: number
  readonly perAddress: number
  /** Counts for all processes. Null: this process counts its own streams only. */
  readonly leases: StreamLeases | null
}

type Counter = { readonly key: string; readonly max: number; readonly ofWhom: string }

/** Counts a stream for its caller and for its address. While leases cannot be counted, this process's count decides. */
export function makeStreamLimit({ perCaller, perAddress, leases }: Needs): StreamLimit {
  const open = new Map<string, number>()
  let total = 0

  function add(counters: readonly Counter[], change: 1 | -1): void {
    total += change
    for (const { key } of counters) {
      const streams = (open.get(key) ?? 0) + change
      if (streams > 0) open.set(key, streams)
      else open.delete(key)
    }
  }

  async function take(counters: readonly Counter[]): Promise<StreamSlot | Counter> {
    const full = counters.find(({ key, max }) => (open.get(key) ?? 0) >= max)
    if (full) return full
    add(counters, 1)
    const id = newIdentifier('stream_')
    const fullElsewhere = await leases?.take(id, counters)
    if (fullElsewhere) {
      add(counters, -1)
      return fullElsewhere
    }
    return {
      free() {
        add(counters, -1)
        leases?.give(id)
      },
    }
  }

  return {
    async take(caller, ip) {
      const counters = [
        { key: limitKeyOf(caller), max: perCaller, ofWhom: caller.key ? 'of your API key' : 'of your account' },
        { key: `address:${networkKey(ip)}`, max: perAddress, ofWhom: 'from your address' },
      ]
      const taken = await take(counters.filter(({ max }) => max > 0))
      return 'free' in taken ? taken : tooMany(taken)
    },
    open: () => total,
  }
}

/**
 * `Retry-After` when all stream slots are taken: short enough to retry soon, long enough to avoid a thundering herd.
 */
const RETRY_AFTER_SECONDS = 5

function tooMany({ max, ofWhom }: Counter): ApiError {
  return new ApiError('rate_limited', {
    message: `There are ${max} streams ${ofWhom} open, which is the limit. End one, or try again.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}
