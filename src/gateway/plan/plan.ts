/** Decides which backends serve a call, in which order, and in which dialect each of them is called. */
import { hasBackendList } from '../../directory/serve-entries.ts'
import type { PlacedModel } from '../../directory/serve-entries.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Candidate, Placement } from './candidate.ts'
import { orderCandidates } from './order.ts'
import type { Affinity } from './order.ts'

/**
 * Which backends can serve an operation. `any_dialect`: all, translated where they speak another dialect.
 * `own_dialect`: only in the operation's own shape. `vendor_only`: the result is encrypted, and only the vendor can
 * read it.
 */
export type Reach = 'any_dialect' | 'own_dialect' | 'vendor_only'

/** What a plan needs to know of a call. */
export type PlannedCall = {
  readonly operation: { readonly dialect: Dialect; readonly reach: Reach }
  readonly model: Pick<PlacedModel, 'serve'>
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

/**
 * The steps of a call. A model whose backends the directory lists has a step for each that can do the operation. By its
 * route, a call has one step: the first backend that is ready. Candidates come in the order of preference.
 */
export function planCall(call: PlannedCall, candidates: readonly Candidate[], affinity: Affinity): Plan {
  if (candidates.length === 0) return 'model_unavailable'
  const able = candidates.flatMap((candidate) => {
    const dialect = chooseDialect(call, candidate)
    return dialect === null ? [] : [{ ...candidate, dialect }]
  })
  const [first] = able
  if (!first) return 'not_supported'
  if (hasBackendList(call.model)) return orderCandidates(able, call.operation.dialect, affinity).map(toStep)
  // What is known of a backend may be old, so without another one it is tried in any state.
  return [toStep(able.find(({ isReady }) => isReady) ?? first)]
}

/** The step of a candidate in the dialect that was chosen. */
export function toStep({ backend, model, caps, isOfflineOnly, isReachable, dialect }: Step): Step {
  return { backend, model, caps, isOfflineOnly, isReachable, dialect }
}

/**
 * The dialect in which a backend is called: the operation's own, or else the one that the backend prefers. Null when
 * the backend cannot do the operation. An engine that is not known to do it is tried where the plan has no other
 * backend; an answer of another shape means that it cannot.
 */
function chooseDialect({ operation, model }: PlannedCall, { kind, dialects }: Candidate): Dialect | null {
  const { dialect, reach } = operation
  if (dialects.includes(dialect)) return reach === 'vendor_only' && kind === 'engine' ? null : dialect
  if (reach === 'own_dialect' && kind === 'engine' && !hasBackendList(model)) return dialect
  return reach === 'any_dialect' ? (dialects[0] ?? null) : null
}
