/**
 * Whether a call may start, by the spending limits of its caller. A limit is used up when what was spent reaches its
 * amount. Before, a call reserves what it may cost, and starts while the reserved amounts of all running calls fit in
 * what is left. A call that runs alone may start whatever it may cost, so that the last part of a limit can be used.
 */
import { ApiError } from '../../http/errors.ts'
import { writeUsd } from '../../kernel/formats/usd.ts'
import { describeLimit, writeReset } from '../../spending/rules.ts'
import type { CountedLimit } from '../../spending/rules.ts'

/** A limit, and what this process knows of it. In 10^-9 USD. */
export type UsedLimit = {
  readonly limit: CountedLimit
  readonly spentNanoUsd: number
  /** What the running calls of this process have reserved. */
  readonly reservedNanoUsd: number
}

/** `used_up`: nothing more can start in this period. `reserved`: when running calls have ended, more can start. */
export type SpendingVerdict = 'may_start' | { readonly refused: 'used_up' | 'reserved'; readonly by: UsedLimit }

/** Judges a call that may cost `estimateNanoUsd`, by all limits of its caller. */
export function judgeSpending(limits: readonly UsedLimit[], estimateNanoUsd: number): SpendingVerdict {
  const usedUp = limits.filter(({ limit, spentNanoUsd }) => spentNanoUsd >= limit.amountNanoUsd)
  // The last one to reset, because waiting for another one does not help.
  const [last] = usedUp.toSorted((a, b) => resetOf(b) - resetOf(a))
  if (last) return { refused: 'used_up', by: last }
  const full = limits.find(
    ({ limit, spentNanoUsd, reservedNanoUsd }) =>
      reservedNanoUsd > 0 && spentNanoUsd + reservedNanoUsd + estimateNanoUsd > limit.amountNanoUsd,
  )
  return full ? { refused: 'reserved', by: full } : 'may_start'
}

function resetOf({ limit }: UsedLimit): number {
  return limit.span.resetsAt.getTime()
}

/** Short, because a call that ends returns what it has reserved. */
const RESERVED_RETRY_SECONDS = 2

/**
 * The error of a refused call. Clients repeat a call after 429, so a limit that is used up is 402. Codex repeats it
 * after 402 and shows no reason after 429, except for its vendor's own error for used up limits.
 */
export function toSpendingRefusal(
  { refused, by }: Exclude<SpendingVerdict, 'may_start'>,
  { isCodex, now }: { readonly isCodex: boolean; readonly now: Date },
): ApiError {
  const { limit, spentNanoUsd, reservedNanoUsd } = by
  const what = `The ${describeLimit(limit)}`
  const spent = `${writeUsd(spentNanoUsd)} USD are spent`
  if (refused === 'reserved') {
    const running = `running calls may cost the rest (${writeUsd(reservedNanoUsd)} USD)`
    return new ApiError('rate_limited', {
      message: `${what} is nearly used up: ${spent}, and ${running}. Try again when they have ended.`,
      retryAfterSeconds: RESERVED_RETRY_SECONDS,
    })
  }
  const { resetsAt } = limit.span
  const message = `${what} is used up: ${spent}. It resets at ${writeReset(limit)}. An admin of the team can raise it.`
  if (!isCodex) return new ApiError('spending_limit_reached', { message, resetsAt })
  const retryAfterSeconds = (resetsAt.getTime() - now.getTime()) / 1000
  return new ApiError('usage_limit_reached', { message, resetsAt, retryAfterSeconds })
}
