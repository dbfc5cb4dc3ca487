import type { Clock } from '../../../kernel/clock.ts'
import type { Secret } from '../../../kernel/secret.ts'
import { addressRequest } from '../../backends/addressing.ts'
import type { DialectRequest } from '../../backends/addressing.ts'
import type { Backend } from '../../backends/backend.ts'
import type { ModelCaps } from '../../dialects/caps.ts'
import { readObject } from '../../dialects/json/read-json.ts'
import type { Json } from '../../dialects/json/read-json.ts'
import type { RefusedPart } from '../../dialects/refused-parts.ts'
import { toBackendHeaders, withHeaders } from '../../exchange/headers.ts'
import type { HeaderList } from '../../exchange/headers.ts'
import type { ExchangeOptions } from '../../exchange/relay.ts'
import type { BackendRequest } from '../../exchange/send.ts'
import type { Step } from '../../plan/plan.ts'
import type { Admission } from '../admit.ts'
import type { CallRequest } from '../request/request.ts'

/** The request of one step of a plan, and what its answer becomes. */
export type PreparedCall = Pick<ExchangeOptions, 'rewrite' | 'filter'> & {
  readonly request: BackendRequest
}

/**
 * One step of a call, by which its request is made and its answer is rewritten. It holds nothing of the caller's
 * request, because it is kept until the answer ends.
 */
export type CallStep = {
  readonly admission: Pick<Admission, 'operation' | 'model' | 'calledAs' | 'caller' | 'sessionId' | 'wantsStream'>
  readonly step: Step
  readonly backend: Backend
  /** The secrets of the deployment that reasoning is sealed with (`prepare/seals.ts`). */
  readonly sealSecrets: readonly Secret[]
  readonly clock: Clock
  /** The parts of the request that the backend has refused, so that it is sent again without them. */
  readonly refusedParts: readonly RefusedPart[]
}

/**
 * What the model can be asked at the backend: as its answers to this call say, else the directory, else its answers to
 * earlier calls.
 */
export function capsOf({ step, backend, refusedParts }: CallStep): Partial<ModelCaps> {
  const known = { ...backend.condition.learned.of(step.model), ...step.caps }
  return refusedParts.reduce((caps, part) => ({ ...caps, ...part.caps }), known)
}

/**
 * The members of a call of Codex that are replaced; none in other calls. After its user has picked a model without
 * reasoning levels with `/model`, Codex sends the effort `none` with the calls of every model. Where the model does not
 * list `none`, the user cannot have chosen it. It would turn reasoning off, or be refused.
 */
export function undoUnchosenEffort({ admission: { operation, model } }: CallStep, body: Json): Json {
  if (!operation.isCodex) return {}
  const { effort, ...rest } = readObject(body.reasoning)
  return effort === 'none' && !model.caps.efforts?.includes('none') ? { reasoning: rest } : {}
}

/**
 * The headers of the request to a backend: what may cross of the caller's, the backend's credential, and what the
 * directory has for the backend. `ofDialect`: what a translation adds; null: the call is not translated.
 */
export function toStepHeaders(
  { admission, backend }: CallStep,
  req: CallRequest,
  { betas = true }: Partial<ModelCaps>,
  ofDialect: HeaderList | null,
): HeaderList {
  const { credential, traits, headers: further } = backend
  const headers = toBackendHeaders(req.rawHeaders, credential, { isTranslated: ofDialect !== null, betas })
  if (ofDialect) headers.push(...ofDialect)
  if (traits.closesAfterStream && admission.wantsStream) headers.push('connection', 'close')
  return further ? withHeaders(headers, further) : headers
}

/** The request of a step, from what its dialect and the caller say. */
export function toStepRequest(
  { admission, step, backend }: CallStep,
  request: DialectRequest & { readonly headers: HeaderList },
): BackendRequest {
  const { path, body } = addressRequest(backend, { model: step.model, wantsStream: admission.wantsStream }, request)
  return { method: 'POST', path, headers: request.headers, body }
}
