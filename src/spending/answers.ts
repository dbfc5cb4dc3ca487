import type { SpendingLimit } from '../../generated/openapi.ts'
import { NOTHING_SPENT } from './rules.ts'
import type { CountedLimit, Spent } from './rules.ts'

export type LimitAnswer = SpendingLimit

/** A limit in the form of the contract. */
export function toLimitAnswer({ span, ...limit }: CountedLimit, spent: Spent): LimitAnswer {
  const { amountNanoUsd, createdAt } = limit
  return {
    id: limit.id,
    team: limit.team,
    subject: limit.subject,
    subjectId: limit.subjectId,
    subjectName: limit.subjectName,
    period: limit.period,
    amountNanoUsd,
    spentNanoUsd: spent.nanoUsd,
    remainingNanoUsd: Math.max(0, amountNanoUsd - spent.nanoUsd),
    unknownCalls: spent.unknownCalls,
    unpricedCalls: spent.unpricedCalls,
    periodStart: span.from,
    resetsAt: span.resetsAt.toISOString(),
    timeZone: limit.timeZone,
    createdAt: createdAt.toISOString(),
  }
}

/** What was spent of a limit; of a limit of each member, by the member who has spent the most. */
export function mostSpent({ spent }: CountedLimit): Spent {
  return [...spent.values()].reduce((most, one) => (one.nanoUsd > most.nanoUsd ? one : most), NOTHING_SPENT)
}
