import type { ServeEntry } from '../../directory/backends.ts'
import { WORKER_NAME } from '../../kernel/backend-name.ts'
import { judgeModel, judgeWorker } from '../backends/worker-state.ts'
import type { ProbeResult, WorkerState } from '../backends/worker-state.ts'

type NamedModel = {
  readonly id: string
  readonly backendModel: string | null
  readonly serve: readonly Pick<ServeEntry, 'backend' | 'model'>[]
}

/**
 * Returns the worker as the contract shows it, with those of `models` that it serves. `found` is null when no worker is
 * configured.
 */
export function toShownWorker(found: ProbeResult | null, models: readonly NamedModel[]) {
  const served = models.flatMap((model) => namesAtWorker(model).map((backendModel) => ({ id: model.id, backendModel })))
  const names = served.map(({ backendModel }) => backendModel)
  const stateOf = (model: string): WorkerState => (found ? judgeModel(found, model) : 'not_configured')
  return {
    id: WORKER_NAME,
    mode: 'airplane' as const,
    kind: 'local' as const,
    protocol: 'vendora-compatible' as const,
    state: found ? judgeWorker(found, names) : ('not_configured' as const),
    models: served.map((model) => ({ ...model, state: stateOf(model.backendModel) })),
    capabilities: ['chat', 'code', 'streaming', 'tools'] as ('chat' | 'code' | 'streaming' | 'tools')[],
  }
}

/** The names of a model at the worker. Where the directory names the backends of a model, only these serve it. */
function namesAtWorker({ backendModel, serve }: NamedModel): string[] {
  if (serve.length > 0) return serve.filter(({ backend }) => backend === WORKER_NAME).map(({ model }) => model)
  return backendModel === null ? [] : [backendModel]
}
