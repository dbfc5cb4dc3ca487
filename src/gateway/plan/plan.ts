/**
 * Decides which backends serve a call, and in which order. The directory names them for a model. Without that, one of
 * the worker and the upstream of the route group serves it: the worker where the model has a name there. A worker that
 * is not ready gives way only to an upstream that knows the model by name. An upstream never gives way to the worker
 * without being told to.
 */
import type { BackendKind } from '../backends/table.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { canTranslate } from '../dialects/translate.ts'

/** The names of a model, as the directory has them. */
export type ModelNames = {
  readonly id: string
  /** Its name on the local worker; null: it is not there. */
  readonly backendModel: string | null
  /** Its name at the upstream; null: the upstream gets the id. */
  readonly upstreamModel: string | null
}

/** A backend that has a model, and the model's name there. */
export type Placement = {
  readonly backend: string
  readonly model: string
  /** Used only while no earlier backend of the plan can be reached. */
  readonly isOfflineOnly: boolean
}

type Configured = {
  /** Null: not configured. */
  readonly worker: string | null
  /** Of the call's route group; null: not configured. */
  readonly upstream: string | null
}

/** The backends that have a model, in the order of preference. */
export function listPlacements(model: ModelNames, { worker, upstream }: Configured): readonly Placement[] {
  const { id, backendModel, upstreamModel } = model
  const onWorker = worker !== null && backendModel !== null ? [toPlacement(worker, backendModel)] : []
  // An upstream that does not know the model by name gets it only where the worker does not have it.
  const isElsewhere = upstreamModel !== null || onWorker.length === 0
  const atUpstream = upstream !== null && isElsewhere ? [toPlacement(upstream, upstreamModel ?? id)] : []
  return [...onWorker, ...atUpstream]
}

function toPlacement(backend: string, model: string): Placement {
  return { backend, model, isOfflineOnly: false }
}

/** A backend that the directory names for a model. */
type Served = { readonly backend: string; readonly model: string; readonly when: 'always' | 'offline' }

/** The backends that the directory names for a model, in its order. */
export function listServed(serve: readonly Served[]): readonly Placement[] {
  return serve.map(({ backend, model, when }) => ({ backend, model, isOfflineOnly: when === 'offline' }))
}

/**
 * Which backends can serve an operation. `any_dialect`: all, translated where they speak another dialect.
 * `own_dialect`: only in the operation's own shape; an engine is tried, and an answer of another shape means that it
 * does not know the operation. `vendor_only`: the result is encrypted, and only the vendor can read it.
 */
export type Reach = 'any_dialect' | 'own_dialect' | 'vendor_only'

type PlannedOperation = { readonly dialect: Dialect; readonly reach: Reach }

/** A placement, with what is known of the backend now. */
export type Candidate = Placement & {
  readonly kind: BackendKind
  /** The dialects in which the backend takes this call, the preferred one first. */
  readonly dialects: readonly Dialect[]
  readonly isReady: boolean
}

/** One way to serve a call. */
export type Step = Placement & {
  /** The dialect in which the backend is called. Where it is not the operation's, the call is translated. */
  readonly dialect: Dialect
}

/**
 * `model_unavailable`: no backend has the model now. `not_supported`: the backends that have it cannot do this
 * operation.
 */
export type Plan = readonly Step[] | 'model_unavailable' | 'not_supported'

/** The steps of a call of a model that the team may call; candidates come in the order of preference. */
export function planCall(operation: PlannedOperation, candidates: readonly Candidate[]): Plan {
  if (candidates.length === 0) return 'model_unavailable'
  const able = candidates.flatMap((candidate) => {
    const dialect = chooseDialect(operation, candidate)
    return dialect === null ? [] : [{ ...candidate, dialect }]
  })
  // What is known of a backend may be old, so without another one it is tried in any state.
  const chosen = able.find(({ isReady }) => isReady) ?? able[0]
  return chosen ? [toStep(chosen)] : 'not_supported'
}

/**
 * The steps of a call of a model whose backends the directory names: each that can do the operation. Those that are not
 * ready come last, because what is known of them may be old. Those for the time without a network come after these.
 */
export function planServed(operation: PlannedOperation, candidates: readonly Candidate[]): Plan {
  if (candidates.length === 0) return 'model_unavailable'
  const able = candidates.flatMap((candidate) => {
    const dialect = chooseDialect(operation, candidate)
    // An engine that is not known to do the operation is not tried: the plan may have a backend that can.
    const isKnown = dialect !== null && (operation.reach !== 'own_dialect' || candidate.dialects.includes(dialect))
    return isKnown ? [{ ...candidate, dialect }] : []
  })
  if (able.length === 0) return 'not_supported'
  return able.toSorted((a, b) => rankOf(a) - rankOf(b)).map(toStep)
}

function rankOf({ isOfflineOnly, isReady }: Candidate): number {
  return (isOfflineOnly ? 2 : 0) + (isReady ? 0 : 1)
}

function toStep({ backend, model, isOfflineOnly, dialect }: Step): Step {
  return { backend, model, isOfflineOnly, dialect }
}

/** The dialect in which a backend can be called; null when it cannot do the operation. */
function chooseDialect({ dialect, reach }: PlannedOperation, { kind, dialects }: Candidate): Dialect | null {
  if (dialects.includes(dialect)) return reach === 'vendor_only' && kind === 'engine' ? null : dialect
  if (reach === 'own_dialect' && kind === 'engine') return dialect
  if (reach !== 'any_dialect') return null
  return dialects.find((other) => canTranslate(dialect, other)) ?? null
}
