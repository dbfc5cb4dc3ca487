/** What spending limits count, summed by team, day, account and API key. */
import { hasUnknownUsage, isUnpriced } from './events.ts'
import type { CallEvent, EndedCallEvent } from './events.ts'

export type SpendingSum = {
  readonly team: string
  /** In the time zone of the team. */
  readonly day: string
  readonly accountId: string
  /** Null for calls without an API key. */
  readonly keyId: string | null
  /** In 10^-9 USD. */
  readonly nanoUsd: number
  readonly unknownCalls: number
  readonly unpricedCalls: number
}

/** Sums the calls of events that have ended. */
export function sumSpending(events: readonly CallEvent[]): SpendingSum[] {
  const sums = new Map<string, SpendingSum>()
  for (const event of events) if (event.result) addSpending(sums, toSpendingSum(event))
  return [...sums.values()]
}

/** Adds a sum to the one of the same team, day, account and key. `sign`: -1 takes it away again. */
export function addSpending(sums: Map<string, SpendingSum>, sum: SpendingSum, sign: 1 | -1 = 1): void {
  const id = [sum.team, sum.day, sum.accountId, sum.keyId].join('\n')
  const before = sums.get(id)
  sums.set(id, {
    ...sum,
    nanoUsd: (before?.nanoUsd ?? 0) + sign * sum.nanoUsd,
    unknownCalls: (before?.unknownCalls ?? 0) + sign * sum.unknownCalls,
    unpricedCalls: (before?.unpricedCalls ?? 0) + sign * sum.unpricedCalls,
  })
}

/** What one call adds. */
export function toSpendingSum({ call: { caller }, result }: EndedCallEvent): SpendingSum {
  return {
    team: caller.team,
    day: result.spent.day,
    accountId: caller.accountId,
    keyId: caller.key?.id ?? null,
    nanoUsd: result.spent.nanoUsd,
    unknownCalls: Number(hasUnknownUsage(result)),
    unpricedCalls: Number(isUnpriced(result)),
  }
}
