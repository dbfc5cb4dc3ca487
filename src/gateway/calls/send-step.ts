import type { BodyBudget } from '../../http/body-budget.ts'
import { ApiError } from '../../http/errors.ts'
import type { Backends } from '../backends/backends.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { startExchange } from '../exchange/exchange.ts'
import { isSuccess, suggestsUnready } from '../exchange/outcome.ts'
import type { Outcome } from '../exchange/outcome.ts'
import { ACCESS_ENDED } from '../exchange/stream-failures.ts'
import type { StreamKeepAlive } from '../exchange/stream-keep-alive.ts'
import type { Step } from '../plan/plan.ts'
import type { Admission, AdmittedCall } from './admit.ts'
import type { SessionAffinity } from './affinity.ts'
import { observeAnswer } from './answer-observer.ts'
import type { AnswerObserver } from './answer-observer.ts'
import { nameAttempts, toTried } from './attempt.ts'
import type { Attempt } from './attempt.ts'
import { prepareSameDialect } from './prepare/prepare-same-dialect.ts'
import { prepareTranslated } from './prepare/prepare-translated.ts'
import type { CallStep, PreparedCall } from './prepare/prepared-call.ts'
import { recordStart } from './record.ts'
import type { RecordNeeds } from './record.ts'
import { releaseBody, releaseParsed, wasSentLast } from './request/request.ts'
import { endAttemptSpan, traceAttempt } from './trace.ts'
import type { TraceNeeds } from './trace.ts'

export type SendNeeds = RecordNeeds &
  TraceNeeds &
  Pick<CallStep, 'sealSecrets'> & {
    readonly backends: Backends
    readonly keepAlive: StreamKeepAlive
    readonly affinity: SessionAffinity
    /** For all answers that are held. */
    readonly answerBudget: BodyBudget
    /** Calls back when the session or the API key of a caller ends; returns a function that stops watching. */
    readonly watchAccess: (sessionId: string, onEnd: () => void) => () => void
  }

/** A step of a plan that is sent now. */
export type Sending = Pick<CallStep, 'step' | 'backend' | 'refusedParts'> & {
  /** The attempts of the call before this one. */
  readonly earlier: readonly Attempt[]
  /** The plan has no other step. */
  readonly isOnly: boolean
}

/**
 * Starts the exchange of a step. The promise never rejects. An `ApiError` names what the backend cannot be asked. Null
 * when the backend has refused the same request. This function does not wait, so that no stack keeps the body of the
 * request until the answer ends.
 */
export function sendStep(needs: SendNeeds, call: AdmittedCall, sending: Sending): Promise<Attempt> | ApiError | null {
  const { admission, req, res } = call
  const { step, backend, earlier, isOnly } = sending
  const { operation, wantsStream, caller } = admission
  const prepared = prepare(needs, call, sending)
  if (!prepared || prepared instanceof ApiError) return prepared
  req.sent = prepared.request
  const { span, request } = traceAttempt(needs, { operation, backend, step, request: prepared.request }, req)
  const observer = observe(admission, step, span !== null)
  res.setHeader('x-svc-served-by', backend.name)
  const sentAt = needs.clock.now()
  if (earlier.length === 0) recordStart(needs, admission, backend.name, sentAt)
  const startedAt = backend.condition.noteStart(step.model)
  const exchange = startExchange(backend, request, res, {
    dialect: DIALECTS[operation.dialect],
    backendDialect: DIALECTS[step.dialect],
    isTranslated: !isSameDialect(admission, step),
    wantsStream,
    rewrite: prepared.rewrite,
    filter: prepared.filter,
    credential: backend.credential,
    keepsErrors: !isOnly,
    failureCodes: backend.traits.failureCodes,
    onAnswer(status) {
      releaseBody(req)
      req.countedBody?.release()
      if (earlier.length > 0)
        nameAttempts(res, [...earlier.map(toTried), { backend: backend.name, result: `${status}` }])
      if (status < 400) noteServed(needs, admission, sending, startedAt)
    },
    keepAlive: needs.keepAlive,
    observer,
    budget: needs.answerBudget,
    clock: needs.clock,
  })
  if (isOnly) releaseParsed(req)
  const stopWatching = needs.watchAccess(caller.sessionId, () => exchange.end(ACCESS_ENDED))
  return exchange.outcome.then((outcome) => {
    stopWatching()
    noteEnd(admission, sending, outcome)
    const { name, kind: backendKind } = backend
    const attempt = { backend: name, backendKind, model: step.model, sentAt, outcome, ...observer.end() }
    if (span) endAttemptSpan(span, attempt)
    return attempt
  })
}

/** Prepares the request of a step. Null when it would be the request that the backend has refused. */
function prepare(
  { sealSecrets, clock }: SendNeeds,
  { admission, req }: AdmittedCall,
  { step, backend, refusedParts }: Sending,
): PreparedCall | ApiError | null {
  const call = { admission, step, backend, sealSecrets, clock, refusedParts }
  const prepared = isSameDialect(admission, step) ? prepareSameDialect(call, req) : prepareTranslated(call, req)
  if (prepared instanceof ApiError) return prepared
  return refusedParts.length > 0 && wasSentLast(req, prepared.request) ? null : prepared
}

function isSameDialect({ operation }: Admission, step: Step): boolean {
  return step.dialect === operation.dialect
}

function observe(admission: Admission, step: Step, isTraced: boolean): AnswerObserver {
  return observeAnswer(step.dialect, {
    isCount: admission.operation.name === 'count_tokens',
    isTraced,
    // A translation leaves out what only the caller's dialect has.
    askedTier: isSameDialect(admission, step) ? admission.size.serviceTier : 'standard',
  })
}

function noteServed({ affinity }: SendNeeds, admission: Admission, sending: Sending, startedAt: number): void {
  const { step, backend, isOnly } = sending
  backend.condition.noteAnswer(step.model, startedAt)
  if (!isOnly && !step.isOfflineOnly) affinity.note(admission, backend.name)
}

/** What the answer says of the backend and of its models is remembered for later calls. */
function noteEnd({ operation }: Admission, sending: Sending, outcome: Outcome): void {
  const { condition, health } = sending.backend
  condition.noteEnd(sending.step.model, outcome)
  // Not every backend knows the other operations.
  if (outcome.status === 404 && operation.reach === 'any_dialect') condition.noteNotFound()
  if (isSuccess(outcome)) noteLearned(sending)
  if (suggestsUnready(outcome)) health.recheck()
}

/** Remembers what the model refuses, after it has accepted the request without that. */
function noteLearned({ step, backend, refusedParts }: Sending): void {
  for (const { caps, isOfModel } of refusedParts) if (isOfModel) backend.condition.learned.note(step.model, caps)
}
