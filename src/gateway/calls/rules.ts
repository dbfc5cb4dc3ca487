/**
 * Who serves a call of a model that the team may call. The local worker comes first where the model has a name there; a worker that is not
 * ready steps aside only for an upstream that knows the model by name, and an upstream never steps aside silently for the worker.
 */
import type { WorkerState } from '../workers/rules.ts'

export type Serving = 'local-engine' | 'upstream' | 'nothing'

type Facts = {
  readonly model: { readonly backendModel: string | null; readonly upstreamModel: string | null }
  /** Of this model on the worker; `not_configured` without a worker. */
  readonly worker: WorkerState
  /** The worker can be spoken to in the style of this call. */
  readonly speaksStyle: boolean
  /** The route group has an upstream. */
  readonly hasUpstream: boolean
}

/** The serving path of a call; `nothing` means that the model is allowed but not available. */
export function chooseServing({ model, worker, speaksStyle, hasUpstream }: Facts): Serving {
  const upstream = hasUpstream ? 'upstream' : 'nothing'
  if (model.backendModel === null || worker === 'not_configured') return upstream
  if (model.upstreamModel !== null && hasUpstream && (worker !== 'ready' || !speaksStyle)) return 'upstream'
  // What is known of the worker may be old, so without another way it is tried whatever its state.
  return speaksStyle ? 'local-engine' : 'nothing'
}
