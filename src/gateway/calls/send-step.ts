import type { ServerResponse } from 'node:http'
import type { BodyBudget } from '../../http/body-budget.ts'
import { ApiError } from '../../http/errors.ts'
import type { Backend } from '../backends/backend.ts'
import type { Backends } from '../backends/backends.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import type { RefusedPart } from '../dialects/refused-parts.ts'
import { startExchange } from '../exchange/exchange.ts'
import { isSuccess, suggestsUnready, toRefusal } from '../exchange/outcome.ts'
import { ACCESS_ENDED } from '../exchange/relay.ts'
import type { StreamKeepAlive } from '../exchange/stream-keep-alive.ts'
import type { Step } from '../plan/plan.ts'
import { toTried, writeAttempts } from '../usage/events.ts'
import type { Attempt } from '../usage/events.ts'
import type { Admission, AdmittedCall } from './admit.ts'
import type { SessionAffinity } from './affinity.ts'
import { observeAnswer } from './answer-observer.ts'
import { prepareSameDialect } from './prepare/prepare-same-dialect.ts'
import { prepareTranslated } from './prepare/prepare-translated.ts'
import { recordStart } from './record.ts'
import type { RecordNeeds } from './record.ts'
import { releaseBody, releaseParsed, wasSentLast } from './request/request.ts'
import { endAttemptSpan, traceAttempt } from './trace.ts'
import type { TraceNeeds } from './trace.ts'

export type SendNeeds = RecordNeeds &
  TraceNeeds & {
    readonly backends: Backends
    readonly keepAlive: StreamKeepAlive
    readonly affinity: SessionAffinity
    /** For all answers that are held. */
    readonly answerBudget: BodyBudget
    /** Calls back when the session ends; returns a function that stops watching. */
    readonly watchSession: (sessionId: string, onEnd: () => void) => () => void
  }

/** A step of a plan that is sent now. */
export type Sending = {
  readonly step: Step
  readonly backend: Backend
  /** The attempts of the call before this one. */
  readonly earlier: readonly Attempt[]
  /** The plan has no other step. */
  readonly isOnly: boolean
  /** The parts of the request that the backend has refused, so that it gets the request again without them. */
  readonly refusedParts: readonly RefusedPart[]
}

/**
 * Starts the exchange of a step. The promise never rejects. An `ApiError` names what the backend cannot be asked. Null
 * when the backend has refused the same request. This function does not wait, so that no stack keeps the body of the
 * request until the answer ends.
 */
export function sendStep(
  needs: SendNeeds,
  { admission, req, res }: AdmittedCall,
  sending: Sending,
): Promise<Attempt> | ApiError | null {
  const { step, backend, earlier, isOnly, refusedParts } = sending
  const { operation, wantsStream, caller } = admission
  const { keepAlive, clock } = needs
  const call = { admission, step, backend, clock, refusedParts }
  const isSameDialect = step.dialect === operation.dialect
  const prepared = isSameDialect
    ? prepareSameDialect(call, req, needs.backends.mayHoldUnsignedContent())
    : prepareTranslated(call, req)
  if (prepared instanceof ApiError) return prepared
  const { request } = prepared
  if (refusedParts.length > 0 && wasSentLast(req, request)) return null
  req.sent = request
  const span = traceAttempt(needs, { operation, backend, step, request }, req)
  res.setHeader('x-svc-served-by', backend.name)
  // A translation leaves out what only the caller's dialect has.
  const askedTier = isSameDialect ? admission.size.serviceTier : 'standard'
  const isCount = operation.writeCount !== undefined
  const observer = observeAnswer(step.dialect, { isCount, isTraced: span !== null, askedTier })
  const sentAt = clock.now()
  if (earlier.length === 0) recordStart(needs, admission, backend.name, sentAt)
  const startedAt = backend.condition.noteStart()
  const exchange = startExchange(backend, request, res, {
    dialect: DIALECTS[operation.dialect],
    backendDialect: DIALECTS[step.dialect],
    wantsStream,
    rewrite: prepared.rewrite,
    credential: backend.credential,
    keepsErrors: !isOnly,
    onAnswer(status) {
      releaseBody(req)
      req.countedBody?.release()
      nameAttempts(res, sending, status)
      if (status < 400) noteServed(needs, admission, sending, startedAt)
    },
    filter: prepared.filter,
    keepAlive,
    observer,
    budget: needs.answerBudget,
    clock,
  })
  if (isOnly) releaseParsed(req)
  const stopWatching = needs.watchSession(caller.sessionId, () => exchange.end(ACCESS_ENDED))
  return exchange.outcome.then((outcome) => {
    stopWatching()
    backend.condition.noteEnd(outcome)
    if (isSuccess(outcome)) noteLearned(sending)
    if (suggestsUnready(outcome)) backend.health.recheck()
    const refusal = toRefusal(outcome, backend.traits.failureCodes)
    const { name, kind: backendKind } = backend
    const asked = { backend: name, backendKind, model: step.model, sentAt }
    const attempt = { ...asked, outcome, refusal, ...observer.end() }
    if (span) endAttemptSpan(span, attempt)
    return attempt
  })
}

/** Remembers what the model refuses, after it has accepted the request without that. */
function noteLearned({ step, backend, refusedParts }: Sending): void {
  for (const { caps, isOfModel } of refusedParts) if (isOfModel) backend.condition.learned.note(step.model, caps)
}

/** Names the attempts in the head of the answer that the caller gets, which is that of the last one. */
function nameAttempts(res: ServerResponse, { earlier, backend }: Sending, status: number): void {
  if (earlier.length === 0) return
  const last = { backend: backend.name, result: String(status) }
  res.setHeader('x-svc-attempts', writeAttempts([...earlier.map(toTried), last]))
}

function noteServed({ affinity }: SendNeeds, admission: Admission, sending: Sending, startedAt: number): void {
  const { step, backend, isOnly } = sending
  backend.condition.noteAnswer(startedAt)
  if (!isOnly && !step.isOfflineOnly) affinity.note(admission, backend.name)
}
