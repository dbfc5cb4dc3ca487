import type { SnapshotModel } from '../../directory/rules.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Backend } from '../backends/backend.ts'
import type { Backends } from '../backends/backends.ts'
import { upstreamOf } from '../backends/table.ts'
import type { ModelState } from '../backends/worker-state.ts'
import type { Json } from '../dialects/json/read-json.ts'
import { listPlacements } from '../plan/candidate.ts'
import type { Candidate, Placement } from '../plan/candidate.ts'
import type { Operation } from './operations.ts'

type Call = {
  readonly operation: Operation
  readonly model: SnapshotModel
  readonly caller: Pick<Caller, 'isOffline'>
}

/**
 * The backends that have the model of a call, with what is known of each. It waits for what is not known yet only where
 * that changes the plan: at the first call of a model that two backends could serve.
 */
export async function findCandidates(
  backends: Backends,
  { operation, model, caller }: Call,
  body: Json,
): Promise<readonly Candidate[]> {
  const placements = findPlacements(backends, operation, model)
  const candidates: Candidate[] = []
  for (const placement of placements) {
    const backend = backends.find(placement.backend)
    if (!backend || (caller.isOffline && !backend.traits.isLocal)) continue
    const { health } = backend
    const isAsked = placements.length > 1 && !placement.isOfflineOnly
    const state = health.lastKnown(placement.model) ?? (isAsked ? await health.check(placement.model) : null)
    candidates.push(toCandidate(backend, placement, { operation, body, state }))
  }
  return candidates
}

type Known = { readonly operation: Operation; readonly body: Json; readonly state: ModelState | null }

function toCandidate(
  { kind, dialects, condition }: Backend,
  placement: Placement,
  { operation: { dialect, reach }, body, state }: Known,
): Candidate {
  const speaks = reach === 'any_dialect' && dialects.speaks(dialect, { model: placement.model, body })
  return {
    ...placement,
    kind,
    dialects: speaks ? [dialect, ...dialects.certain] : dialects.certain,
    isReady: state === 'ready',
    isReachable: condition.isReachable() && state !== 'unavailable',
    isTripped: condition.isTripped(placement.model),
  }
}

/** The configured backends that have a model for an operation, in the order of preference, with its name at each. */
export function findPlacements(backends: Backends, { path }: Operation, model: SnapshotModel): readonly Placement[] {
  const placements = listPlacements(model, { hasWorker: backends.worker !== null, upstream: upstreamOf(path) })
  return placements.filter(({ backend }) => backends.find(backend) !== null)
}
