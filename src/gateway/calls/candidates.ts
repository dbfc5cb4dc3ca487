import type { SnapshotModel } from '../../directory/rules.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Backend } from '../backends/backend.ts'
import type { Backends } from '../backends/backends.ts'
import { upstreamOf } from '../backends/table.ts'
import type { Json } from '../dialects/json/read-json.ts'
import { listPlacements } from '../plan/plan.ts'
import type { Candidate, Placement } from '../plan/plan.ts'
import { listServed } from '../plan/served.ts'
import type { Operation } from './operations.ts'

type Call = {
  readonly operation: Operation
  readonly model: SnapshotModel
  readonly caller: Pick<Caller, 'isOffline'>
}

/** The backends that have the model of a call, with what is known of each. */
export async function findCandidates(
  backends: Backends,
  { operation, model, caller }: Call,
  body: Json,
): Promise<readonly Candidate[]> {
  const placements = findPlacements(backends, operation, model)
  const candidates: Candidate[] = []
  for (const placement of placements) {
    const backend = backends.find(placement.backend)
    if (backend && (!caller.isOffline || backend.traits.isLocal))
      candidates.push(await toCandidate(backend, placement, { operation, body, hasChoice: placements.length > 1 }))
  }
  return candidates
}

async function toCandidate(
  { kind, dialects, health, condition }: Backend,
  placement: Placement,
  { operation, body, hasChoice }: { readonly operation: Operation; readonly body: Json; readonly hasChoice: boolean },
): Promise<Candidate> {
  const { dialect, reach } = operation
  const { model, isOfflineOnly } = placement
  const speaks = reach === 'any_dialect' && dialects.speaks(dialect, { model, body })
  // It waits for what is not known yet only where that changes the plan: at the first call of a model that two
  // backends could serve.
  const state = health.lastKnown(model) ?? (hasChoice && !isOfflineOnly ? await health.check(model) : null)
  return {
    ...placement,
    kind,
    dialects: speaks ? [dialect, ...dialects.certain] : dialects.certain,
    isReady: state === 'ready',
    isReachable: condition.isReachable() && state !== 'unavailable',
    isTripped: condition.isTripped(),
  }
}

/** The configured backends that have a model for an operation, in the order of preference, with its name at each. */
export function findPlacements(backends: Backends, { path }: Operation, model: SnapshotModel): readonly Placement[] {
  const listed =
    model.serve.length > 0
      ? listServed(model.serve)
      : listPlacements(model, { worker: backends.worker?.name ?? null, upstream: upstreamOf(path) })
  return listed.filter(({ backend }) => backends.find(backend) !== null)
}
