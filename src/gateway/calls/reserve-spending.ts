import type { SnapshotModel } from '../../directory/rules.ts'
import type { ApiError } from '../../http/errors.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Backends } from '../backends/backends.ts'
import type { CostOf } from '../prices/cost.ts'
import { estimateUsage } from '../spending/estimate.ts'
import type { CallSize } from '../spending/estimate.ts'
import type { SpendingLedger, SpendingReservation } from '../spending/ledger.ts'
import { toSpendingRefusal } from '../spending/rules.ts'
import { findPlacements } from './candidates.ts'
import type { Operation } from './operations.ts'

export type SpendingNeeds = {
  readonly spending: SpendingLedger
  /** The cost of an answer; null when its usage is unknown or the model has no price. */
  readonly costOf: CostOf
  readonly backends: Backends
  readonly clock: Clock
  /** Counts a call that a spending limit refused. */
  readonly onSpendingRefused: (refused: 'used_up' | 'reserved') => void
}

type Call = {
  readonly operation: Operation
  readonly caller: Caller
  readonly model: SnapshotModel
  readonly size: CallSize
}

/**
 * Reserves what a call may cost of each spending limit of its caller, or refuses the call. Null: no limit counts it. A
 * model without a price, and one that costs nothing, is never refused.
 */
export async function reserveSpending(
  needs: SpendingNeeds,
  call: Call,
): Promise<SpendingReservation | ApiError | null> {
  const { operation, caller } = call
  if (operation.name === 'count_tokens') return null
  const reserved = await needs.spending.reserve(caller, () => estimateCost(needs, call))
  if (reserved === null || 'release' in reserved) return reserved
  needs.onSpendingRefused(reserved.refused)
  return toSpendingRefusal(reserved, { isCodex: operation.isCodex ?? false, now: needs.clock.now() })
}

/** At the most expensive of the backends that may serve the call. */
function estimateCost({ costOf, backends }: SpendingNeeds, { operation, model, size }: Call): number {
  const usage = estimateUsage(size)
  const { serviceTier } = size
  const costs = findPlacements(backends, operation, model).map(({ backend: name, model: named }) => {
    const kind = backends.find(name)?.kind
    return kind ? (costOf(model, { backend: name, kind, model: named, serviceTier }, usage) ?? 0) : 0
  })
  return Math.max(0, ...costs)
}
