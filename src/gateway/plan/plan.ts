/**
 * Decides which backends serve a call, and in which order. For a model whose backends the directory names, `served.ts`
 * decides. Otherwise, the worker or the upstream of the route group serves it: the worker where the model has a name
 * there. When the worker is not ready, the upstream gets the call only if the directory has the model's name there. The
 * worker never gets the call of a model that has no name there.
 */
import type { BackendKind } from '../backends/table.ts'
import type { ModelCaps } from '../dialects/caps.ts'
import type { Dialect } from '../dialects/dialect.ts'

/** A model without a list of backends: its names, and what it can be asked. */
export type PlacedModel = {
  readonly id: string
  /** Its name on the local worker; null: it is not there. */
  readonly backendModel: string | null
  /** Its name at the upstream; null: the upstream gets the id. */
  readonly upstreamModel: string | null
  readonly caps: Partial<ModelCaps>
}

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

type Configured = {
  /** Null: not configured. */
  readonly worker: string | null
  /** Of the call's route group; null: not configured. */
  readonly upstream: string | null
}

/** The backends that have a model by the route of the call, in the order of preference. */
export function listByRoute(model: PlacedModel, { worker, upstream }: Configured): readonly Placement[] {
  const { id, backendModel, upstreamModel, caps } = model
  const toPlacement = (backend: string, name: string): Placement => {
    return { backend, model: name, caps, isOfflineOnly: false, rank: 0, weight: 1 }
  }
  const onWorker = worker !== null && backendModel !== null ? [toPlacement(worker, backendModel)] : []
  // Without a name at the upstream, a model of the worker is not sent there.
  const isElsewhere = upstreamModel !== null || onWorker.length === 0
  const atUpstream = upstream !== null && isElsewhere ? [toPlacement(upstream, upstreamModel ?? id)] : []
  return [...onWorker, ...atUpstream]
}

/**
 * Which backends can serve an operation. `any_dialect`: all, translated where they speak another dialect.
 * `own_dialect`: only in the operation's own shape; an engine is tried, and an answer of another shape means that it
 * does not know the operation. `vendor_only`: the result is encrypted, and only the vendor can read it.
 */
export type Reach = 'any_dialect' | 'own_dialect' | 'vendor_only'

/** What a plan needs to know of an operation. */
export type PlannedOperation = { readonly dialect: Dialect; readonly reach: Reach }

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

/** One way to serve a call. */
export type Step = Pick<Placement, 'backend' | 'model' | 'caps' | 'isOfflineOnly'> & {
  readonly isReachable: boolean
  /** The dialect in which the backend is called. Where it is not the operation's, the call is translated. */
  readonly dialect: Dialect
}

/**
 * `model_unavailable`: no backend has the model now. `not_supported`: the backends that have it cannot do this
 * operation.
 */
export type Plan = readonly Step[] | 'model_unavailable' | 'not_supported'

/** The one step of a call whose route decides; candidates come in the order of preference. */
export function planByRoute(operation: PlannedOperation, candidates: readonly Candidate[]): Plan {
  if (candidates.length === 0) return 'model_unavailable'
  const able = candidates.flatMap((candidate) => {
    const dialect = chooseDialect(operation, candidate)
    return dialect === null ? [] : [{ ...candidate, dialect }]
  })
  // What is known of a backend may be old, so without another one it is tried in any state.
  const chosen = able.find(({ isReady }) => isReady) ?? able[0]
  return chosen ? [toStep(chosen)] : 'not_supported'
}

/** The step of a candidate in the dialect that was chosen. */
export function toStep({ backend, model, caps, isOfflineOnly, isReachable, dialect }: Step): Step {
  return { backend, model, caps, isOfflineOnly, isReachable, dialect }
}

/**
 * The dialect in which a backend is called: the operation's own, or else the one that the backend prefers. Null when
 * the backend cannot do the operation.
 */
export function chooseDialect({ dialect, reach }: PlannedOperation, { kind, dialects }: Candidate): Dialect | null {
  if (dialects.includes(dialect)) return reach === 'vendor_only' && kind === 'engine' ? null : dialect
  if (reach === 'own_dialect' && kind === 'engine') return dialect
  return reach === 'any_dialect' ? (dialects[0] ?? null) : null
}
