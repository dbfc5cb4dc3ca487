/** Where the model of a call is: by the list of backends in the directory, or by the route of the call. */
import type { BackendKind } from '../backends/table.ts'
import type { ModelCaps } from '../dialects/caps.ts'
import type { Dialect } from '../dialects/dialect.ts'

/** What the directory says of where a model is. */
export type PlacedModel = {
  readonly id: string
  /** The backends that serve it, in the order of preference; empty: the route of a call decides. */
  readonly serve: readonly ListedBackend[]
  /** Its name on the local worker; null: it is not there. */
  readonly backendModel: string | null
  /** Its name at the upstream; null: the upstream gets the id. */
  readonly upstreamModel: string | null
  readonly caps: Partial<ModelCaps>
}

type ListedBackend = Omit<Placement, 'isOfflineOnly'> & { readonly when: 'always' | 'offline' }

/** A backend that has a model, and the model's name there. */
export type Placement = {
  readonly backend: string
  readonly model: string
  /** What the directory says that the model can be asked there. */
  readonly caps: Partial<ModelCaps>
  /** Used only while no earlier backend of the plan can be reached. */
  readonly isOfflineOnly: boolean
  /** Its position in the order of preference. Backends of equal rank are neighbours, over which sessions are spread. */
  readonly rank: number
  /** The share of the sessions that it gets among its neighbours. */
  readonly weight: number
}

/** A placement, with what is known of the backend now. */
export type Candidate = Placement & {
  readonly kind: BackendKind
  /** The dialects in which the backend takes this call, the preferred one first. */
  readonly dialects: readonly Dialect[]
  readonly isReady: boolean
  /** False after a failure to connect. */
  readonly isReachable: boolean
  /** It has failed repeatedly, so the others are asked first. */
  readonly isTripped: boolean
}

/** Whether the directory lists the backends of a model. Otherwise, the route of a call decides. */
export function hasBackendList({ serve }: Pick<PlacedModel, 'serve'>): boolean {
  return serve.length > 0
}

type Configured = {
  /** Null: not configured. */
  readonly worker: string | null
  /** Of the call's route group; null: not configured. */
  readonly upstream: string | null
}

/** The backends that have a model for a call, in the order of preference. Not all of them may be configured. */
export function listPlacements(model: PlacedModel, configured: Configured): readonly Placement[] {
  if (!hasBackendList(model)) return listByRoute(model, configured)
  return model.serve.map(({ when, ...placement }) => ({ ...placement, isOfflineOnly: when === 'offline' }))
}

/**
 * The worker, where the model has a name there, and the upstream of the route group. With a name at the worker and none
 * at the upstream, the model is not sent to the upstream.
 */
function listByRoute(model: PlacedModel, { worker, upstream }: Configured): readonly Placement[] {
  const { id, backendModel, upstreamModel, caps } = model
  const toPlacement = (backend: string, name: string): Placement => {
    return { backend, model: name, caps, isOfflineOnly: false, rank: 0, weight: 1 }
  }
  const onWorker = worker !== null && backendModel !== null ? [toPlacement(worker, backendModel)] : []
  const isElsewhere = upstreamModel !== null || onWorker.length === 0
  const atUpstream = upstream !== null && isElsewhere ? [toPlacement(upstream, upstreamModel ?? id)] : []
  return [...onWorker, ...atUpstream]
}
