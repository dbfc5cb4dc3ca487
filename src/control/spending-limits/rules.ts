/**
 * When 80 % or 100 % of a spending limit are used, the admins of the team get an email: once for each limit, period and
 * percentage. A limit of each member is judged for each of them by itself, and the email names the member.
 */
import type { CountedLimit } from '../../spending/rules.ts'

/** In percent of the amount. */
export const NOTICE_PERCENTAGES = [80, 100] as const

export type ReachedLimit = {
  readonly limit: CountedLimit
  /** The member whose calls reached a limit of each member; null for all other limits. */
  readonly accountId: string | null
  readonly percent: (typeof NOTICE_PERCENTAGES)[number]
  /** In 10^-9 USD. */
  readonly spentNanoUsd: number
}

/** The limits that have reached a share of their amount, with the highest share that each has reached. */
export function findReached(limits: readonly CountedLimit[]): ReachedLimit[] {
  return limits.flatMap((limit) =>
    [...limit.spent].flatMap(([counter, { nanoUsd: spentNanoUsd }]) => {
      const percent = NOTICE_PERCENTAGES.findLast((share) => spentNanoUsd * 100 >= limit.amountNanoUsd * share)
      const accountId = counter === limit.id ? null : counter.slice(limit.id.length + 1)
      if (percent === undefined) return []
      return [{ limit, accountId, percent, spentNanoUsd }]
    }),
  )
}
