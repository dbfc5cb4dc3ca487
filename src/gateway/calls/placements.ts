import type { SnapshotModel } from '../../directory/snapshot.ts'
import type { Backends } from '../backends/backends.ts'
import { upstreamOf } from '../backends/table.ts'
import { listPlacements, listServed } from '../plan/plan.ts'
import type { Placement } from '../plan/plan.ts'
import type { Operation } from './operations.ts'

/** The configured backends that have a model for an operation, in the order of preference, with its name at each. */
export function findPlacements(backends: Backends, { path }: Operation, model: SnapshotModel): readonly Placement[] {
  const listed =
    model.serve.length > 0
      ? listServed(model.serve)
      : listPlacements(model, { worker: backends.worker?.name ?? null, upstream: upstreamOf(path) })
  return listed.filter(({ backend }) => backends.find(backend) !== null)
}
