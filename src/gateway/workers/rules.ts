import type { Worker } from '../../../generated/openapi.ts'
import type { PlacedModel } from '../../directory/serve-entries.ts'
import { WORKER_NAME } from '../../kernel/backend-name.ts'
import { judgeModel, judgeWorker } from '../backends/worker-state.ts'
import type { ProbeResult, WorkerState } from '../backends/worker-state.ts'
import { namesAtWorker } from '../models/rules.ts'

/**
 * Returns the worker as the contract shows it, with those of `models` that it serves. `found` is null when no worker is
 * configured.
 */
export function toShownWorker(found: ProbeResult | null, models: readonly PlacedModel[]): Worker {
  const served = models.flatMap((model) => namesAtWorker(model).map((backendModel) => ({ id: model.id, backendModel })))
  const names = served.map(({ backendModel }) => backendModel)
  const stateOf = (model: string): WorkerState => (found ? judgeModel(found, model) : 'not_configured')
  return {
    id: WORKER_NAME,
    mode: 'airplane',
    kind: 'local',
    protocol: 'vendora-compatible',
    state: found ? judgeWorker(found, names) : 'not_configured',
    models: served.map((model) => ({ ...model, state: stateOf(model.backendModel) })),
    capabilities: ['chat', 'code', 'streaming', 'tools'],
  }
}
