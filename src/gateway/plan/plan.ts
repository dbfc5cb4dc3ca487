/**
 * Decides which backends serve a call, and in which order. The local worker comes first where the model has a name
 * there. A worker that is not ready gives way only to an upstream that knows the model by name. An upstream never gives
 * way to the worker without being told to.
 */
import type { BackendKind, BackendName } from '../backends/table.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { canTranslate } from '../dialects/translate.ts'

/**
 * Which backends can serve an operation. `any_dialect`: all, translated where they speak another dialect.
 * `own_dialect`: only in the operation's own shape; an engine is tried, and an answer of another shape means that it
 * does not know the operation. `vendor_only`: the result is encrypted, and only the vendor can read it.
 */
export type Reach = 'any_dialect' | 'own_dialect' | 'vendor_only'

/** What the plan knows of a backend that could serve the call. */
export type Candidate = {
  readonly backend: BackendName
  readonly kind: BackendKind
  /** The dialects in which it takes this call, the preferred one first. */
  readonly dialects: readonly Dialect[]
  readonly isReady: boolean
}

export type PlanFacts = {
  readonly model: {
    readonly id: string
    /** The model's name on the local worker; null: it is not there. */
    readonly backendModel: string | null
    /** The model's name at the upstream; null: the upstream gets the id. */
    readonly upstreamModel: string | null
  }
  readonly operation: { readonly dialect: Dialect; readonly reach: Reach }
  /** The local worker; null when it is not configured. */
  readonly worker: Candidate | null
  /** The upstream of the call's route group; null when it is not configured. */
  readonly upstream: Candidate | null
}

/** One way to serve a call. */
export type Step = {
  readonly backend: BackendName
  /** The model's name there. */
  readonly model: string
  /** The dialect in which the backend is called. Another one than the operation's: the call is translated. */
  readonly dialect: Dialect
}

/**
 * `model_unavailable`: no backend has the model now. `not_supported`: the backends that have it cannot do this
 * operation.
 */
export type Plan = readonly Step[] | 'model_unavailable' | 'not_supported'

/**
 * The steps of a call of a model that the team may call. They are tried in this order while the caller has got no byte.
 */
export function planCall({ model, operation, worker, upstream }: PlanFacts): Plan {
  const onWorker = worker && model.backendModel !== null ? [{ ...worker, model: model.backendModel }] : []
  // An upstream that does not know the model by name serves it only where the worker has nothing to do with it.
  const isNamed = model.upstreamModel !== null
  const onUpstream =
    upstream && (isNamed || onWorker.length === 0) ? [{ ...upstream, model: model.upstreamModel ?? model.id }] : []
  const candidates = [...onWorker, ...onUpstream]
  if (candidates.length === 0) return 'model_unavailable'

  const able = candidates.flatMap((candidate) => {
    const dialect = chooseDialect(operation, candidate)
    return dialect === null ? [] : [{ ...candidate, dialect }]
  })
  // What is known of the worker may be old, so without another candidate it is tried in any state.
  const chosen = able.find(({ isReady }) => isReady) ?? able[0]
  return chosen ? [{ backend: chosen.backend, model: chosen.model, dialect: chosen.dialect }] : 'not_supported'
}

/** The dialect in which a backend can be called; null when it cannot do the operation. */
function chooseDialect({ dialect, reach }: PlanFacts['operation'], { kind, dialects }: Candidate): Dialect | null {
  if (dialects.includes(dialect)) return reach === 'vendor_only' && kind === 'engine' ? null : dialect
  if (reach === 'own_dialect' && kind === 'engine') return dialect
  if (reach !== 'any_dialect') return null
  return dialects.find((other) => canTranslate(dialect, other)) ?? null
}
