/**
 * The order in which the backends of a model are asked. A session stays with the backend that served it, because prompt
 * caches live there. New sessions are spread by their weights over the backends of equal rank that need no translation,
 * or else over all of them.
 */
import type { Dialect } from '../dialects/dialect.ts'
import type { Candidate } from './candidate.ts'
import { scoreOf } from './spread.ts'

/** What decides between backends of equal rank. */
export type Affinity = {
  /** The same text gives the same order. */
  readonly spreadBy: string
  /** The backend that served the session last; null: none, or there is no session. */
  readonly servedBy: string | null
}

/** A candidate in the dialect in which it is called. */
type AbleCandidate = Candidate & { readonly dialect: Dialect }

type ScoredCandidate = AbleCandidate & { readonly isTranslated: boolean; readonly score: number }

/**
 * Orders candidates for an operation of this dialect. Those that seem broken come after the others and are not left
 * out, because what is known of them may be old. Offline-only ones come last.
 */
export function orderCandidates(
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
