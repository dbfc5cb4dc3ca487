import type { Backend } from '../backends/backend.ts'
import type { Backends } from '../backends/backends.ts'
import { upstreamOf } from '../backends/table.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import type { Json } from '../dialects/json/read-json.ts'
import type { Candidate, PlanFacts } from '../plan/plan.ts'
import type { Admission } from './admit.ts'
import type { Operation } from './operations.ts'

/** Asks the backends for what the plan of a call has to know of them. */
export async function findPlanFacts(
  backends: Backends,
  { operation, model }: Pick<Admission, 'operation' | 'model'>,
  body: Json,
): Promise<PlanFacts> {
  const { worker } = backends
  const upstream = backends.find(upstreamOf(operation.path))
  const hasChoice = upstream !== null && model.upstreamModel !== null
  return {
    model,
    operation,
    worker:
      worker && model.backendModel !== null
        ? {
            ...toCandidate(worker, operation, model.backendModel, body),
            isReady: await isReady(worker, model.backendModel, hasChoice),
          }
        : null,
    upstream: upstream && toCandidate(upstream, operation, model.upstreamModel ?? model.id, body),
  }
}

function toCandidate(backend: Backend, { dialect, reach }: Operation, model: string, body: Json): Candidate {
  const { name, kind, dialects } = backend
  const speaks =
    reach === 'any_dialect' &&
    dialects.speaks(dialect, { model, needsStoredState: DIALECTS[dialect].needsStoredState(body) })
  return { backend: name, kind, dialects: speaks ? [dialect, ...dialects.certain] : dialects.certain, isReady: true }
}

/**
 * Waits for what is not known yet only where it changes the plan: at the first call of a model that two backends could
 * serve.
 */
async function isReady({ health }: Backend, model: string, hasChoice: boolean): Promise<boolean> {
  const known = health.lastKnown(model) ?? (hasChoice ? await health.check(model) : null)
  return known === 'ready'
}
