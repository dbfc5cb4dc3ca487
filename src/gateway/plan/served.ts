/**
 * The plan of a model whose backends the directory names. A session stays with the backend that served it, because
 * prompt caches live there. New sessions are spread by their weights over the backends of equal rank that need no
 * translation, or else over all of them.
 */
import type { Dialect } from '../dialects/dialect.ts'
import { chooseDialect, toStep } from './plan.ts'
import type { Candidate, Placement, Plan, PlannedOperation } from './plan.ts'
import { scoreOf } from './spread.ts'

/** A backend that the directory names for a model. */
type Served = Pick<Placement, 'backend' | 'model' | 'caps' | 'rank' | 'weight'> & {
  readonly when: 'always' | 'offline'
}

/** The backends that the directory names for a model, in its order. */
export function listServed(serve: readonly Served[]): readonly Placement[] {
  return serve.map(({ when, ...placement }) => ({ ...placement, isOfflineOnly: when === 'offline' }))
}

/** What decides between backends of equal rank. */
export type Affinity = {
  /** The same text gives the same order. */
  readonly spreadBy: string
  /** The backend that served the session last; null: none, or there is no session. */
  readonly servedBy: string | null
}

/**
 * The steps of a call: each backend that can do the operation. Those that seem broken come after the others and are not
 * left out, because what is known of them may be old. Offline-only ones come last.
 */
export function planServed(operation: PlannedOperation, candidates: readonly Candidate[], affinity: Affinity): Plan {
  if (candidates.length === 0) return 'model_unavailable'
  const able = candidates.flatMap((candidate) => {
    const dialect = chooseDialect(operation, candidate)
    // An engine that is not known to do the operation is not tried: the plan may have a backend that can.
    const isKnown = dialect !== null && (operation.reach !== 'own_dialect' || candidate.dialects.includes(dialect))
    return isKnown ? [{ ...candidate, dialect }] : []
  })
  if (able.length === 0) return 'not_supported'
  return (able.length === 1 ? able : order(able, operation.dialect, affinity)).map(toStep)
}

type AbleCandidate = Candidate & { readonly dialect: Dialect }

type ScoredCandidate = AbleCandidate & { readonly isTranslated: boolean; readonly score: number }

function order(
  given: readonly AbleCandidate[],
  dialect: Dialect,
  { spreadBy, servedBy }: Affinity,
): readonly AbleCandidate[] {
  const scored = given.map((one) => ({
    ...one,
    isTranslated: one.dialect !== dialect,
    score: scoreOf(spreadBy, one),
  }))
  const ordered = scored.toSorted((a, b) => tierOf(a) - tierOf(b) || a.rank - b.rank || compareNeighbours(a, b))
  const kept = ordered.find((one) => one.backend === servedBy && tierOf(one) === 0)
  return kept ? [kept, ...ordered.filter((one) => one !== kept)] : ordered
}

/** Vendors with an address for each dialect are two backends, so the one that needs no translation comes first. */
function compareNeighbours(a: ScoredCandidate, b: ScoredCandidate): number {
  return Number(a.isTranslated) - Number(b.isTranslated) || b.score - a.score
}

/** The higher, the later. */
function tierOf({ isOfflineOnly, isReachable, isTripped, isReady }: Candidate): number {
  if (isOfflineOnly) return 4
  if (!isReachable) return 3
  if (isTripped) return 2
  return isReady ? 0 : 1
}
