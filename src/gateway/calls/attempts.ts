import type { ServerResponse } from 'node:http'
import { ApiError } from '../../http/errors.ts'
import type { Backend } from '../backends/backend.ts'
import type { Backends } from '../backends/backends.ts'
import type { ReasoningRetry, StreamFailure } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { FREE_USAGE } from '../dialects/usage.ts'
import { startExchange } from '../exchange/exchange.ts'
import { judgedStatusOf, suggestsUnready, toRefusal } from '../exchange/outcome.ts'
import type { Outcome } from '../exchange/outcome.ts'
import type { StreamKeepAlive } from '../exchange/stream-keep-alive.ts'
import { chooseNext, isTriedElsewhere } from '../plan/next-step.ts'
import type { Tried } from '../plan/next-step.ts'
import type { Step } from '../plan/plan.ts'
import { toTried, writeAttempts } from '../usage/events.ts'
import type { Attempt } from '../usage/events.ts'
import type { Admission } from './admit.ts'
import type { SessionAffinity } from './affinity.ts'
import { observeAnswer } from './answer-observer.ts'
import { prepareCall } from './prepare.ts'
import type { PreparedCall } from './prepare.ts'
import { recordStart } from './record.ts'
import type { RecordNeeds } from './record.ts'
import { releaseBody } from './request.ts'
import type { CallRequest } from './request.ts'
import { endAttemptSpan, traceAttempt } from './trace.ts'
import type { TraceNeeds } from './trace.ts'

export type AttemptNeeds = RecordNeeds &
  TraceNeeds & {
    readonly backends: Backends
    readonly keepAlive: StreamKeepAlive
    readonly affinity: SessionAffinity
    /** Calls back when the session ends; returns a function that stops watching. */
    readonly watchSession: (sessionId: string, onEnd: () => void) => () => void
  }

/** The steps of a plan that were tried, in order. */
export type TriedSteps = {
  readonly attempts: readonly Attempt[]
  /** Why backends were not called: each error names what the request asks and the backend cannot do. */
  readonly refusals: readonly ApiError[]
}

/**
 * Tries the steps of a plan until one of them has answered. The next one is tried after an error that another backend
 * may not have, and only while the caller has no byte. A request that a backend has taken without an answer may have
 * been carried out, so it is never sent again. A backend that refuses the reasoning of a request gets it once more
 * without, because it has generated nothing.
 */
export async function tryInOrder(
  needs: AttemptNeeds,
  admission: Admission,
  steps: readonly Step[],
  req: CallRequest,
  res: ServerResponse,
): Promise<TriedSteps> {
  const attempts: Attempt[] = []
  const refusals: ApiError[] = []
  const tried: Tried[] = []
  for (let step = chooseNext(steps, tried); step; step = chooseNext(steps, tried)) {
    const backend = needs.backends.find(step.backend)
    // The directory may have changed since the plan was made.
    const place = { isFirst: attempts.length === 0, isOnly: steps.length === 1, isRepeated: false }
    const attempt = backend && (await attemptStep(needs, admission, { step, backend, ...place }, attempts, req, res))
    if (!attempt || attempt instanceof ApiError) {
      if (attempt) refusals.push(attempt)
      tried.push({ step, result: 'refused' })
      continue
    }
    if (!isTriedNext(attempt.outcome)) break
    tried.push({ step, result: attempt.outcome.kind === 'unreachable' ? 'unreachable' : 'answered' })
  }
  return { attempts, refusals }
}

/**
 * Sends a step, and once more without reasoning where the backend refuses that. Adds what was sent to `attempts`, and
 * resolves with the last of it; null when there is nothing to send.
 */
async function attemptStep(
  needs: AttemptNeeds,
  admission: Admission,
  sending: Sending,
  attempts: Attempt[],
  req: CallRequest,
  res: ServerResponse,
): Promise<Attempt | ApiError | null> {
  const sent = sendStep(needs, admission, sending, req, res)
  if (!sent || sent instanceof ApiError) return sent
  nameAttempts(res, attempts, sending.backend.name)
  const attempt = await sent.ended
  attempts.push(attempt)
  if (sending.isRepeated || !attempt.outcome.kept?.isReasoningRefused) return attempt
  const again = { ...sending, isFirst: false, isRepeated: true }
  return (await attemptStep(needs, admission, again, attempts, req, res)) ?? attempt
}

/** Only an answer of 200 is sent before the call has ended. */
function nameAttempts(res: ServerResponse, before: readonly Attempt[], backend: string): void {
  if (before.length === 0) return
  res.setHeader('x-svc-attempts', writeAttempts([...before.map(toTried), { backend, result: '200' }]))
}

function isTriedNext(outcome: Outcome): boolean {
  if (outcome.kind === 'unreachable') return true
  const isHeld = outcome.kept !== null || outcome.kind === 'refused'
  return isHeld && isTriedElsewhere(judgedStatusOf(outcome) ?? 0)
}

type Sending = {
  readonly step: Step
  readonly backend: Backend
  readonly isFirst: boolean
  readonly isOnly: boolean
  /** The backend has refused the reasoning of the request, so it gets the request without. */
  readonly isRepeated: boolean
}

/**
 * Starts the exchange of a step; null when it repeats a request that has no reasoning to leave out. It is a function of
 * its own, so that the body of the request is not kept on the stack while `attemptStep` waits for the answer.
 */
function sendStep(
  needs: AttemptNeeds,
  admission: Admission,
  sending: Sending,
  req: CallRequest,
  res: ServerResponse,
): { readonly ended: Promise<Attempt> } | ApiError | null {
  const { step, backend, isOnly, isRepeated } = sending
  const { operation, model, calledAs, wantsStream, caller } = admission
  const { backends, keepAlive, clock } = needs
  const mayBeTranslated = backends.mayTranslate()
  const { team } = caller
  const facts = { operation, model, calledAs, team, step, backend, mayBeTranslated, clock }
  const prepared = prepareCall(facts, req)
  if (prepared instanceof ApiError) return prepared
  const { reasoningRetry } = DIALECTS[step.dialect]
  const request = isRepeated ? withoutReasoning(prepared.request, reasoningRetry) : prepared.request
  if (!request) return null
  const span = traceAttempt(needs, { operation, backend, step, request }, req)
  const mayRepeat = !isRepeated && (reasoningRetry?.mayCarry(request.body) ?? false)
  res.setHeader('x-svc-served-by', backend.name)
  const observer = observeAnswer(step.dialect, { isTraced: span !== null })
  const sentAt = clock.now()
  if (sending.isFirst) recordStart(needs, admission, backend.name, sentAt)
  backend.condition.noteStart()
  const exchange = startExchange(backend, request, res, {
    dialect: DIALECTS[operation.dialect],
    backendDialect: DIALECTS[step.dialect],
    wantsStream,
    rewrite: prepared.rewrite,
    keepsErrors: isOnly ? (mayRepeat ? 'about_reasoning' : 'none') : 'all',
    onAnswer(status) {
      releaseBody(req)
      if (status < 400) noteServed(needs, admission, sending)
    },
    filter: prepared.filter,
    keepAlive,
    observer,
    clock,
  })
  if (isOnly && !mayRepeat) releaseBody(req)
  const stopWatching = needs.watchSession(caller.sessionId, () => exchange.end(ACCESS_ENDED))
  const ended = exchange.outcome.then((outcome) => {
    stopWatching()
    backend.condition.noteEnd(outcome)
    if (suggestsUnready(outcome)) backend.health.recheck()
    const refusal = toRefusal(outcome, backend.traits.failureCodes)
    const { usage, unreportedBytes, answerEnding } = observer.end()
    const { name, kind: backendKind } = backend
    const attempt = {
      ...{ backend: name, backendKind, model: step.model, sentAt, outcome, refusal, answerEnding },
      usage: operation.isCount ? FREE_USAGE : usage,
      unreportedBytes: operation.isCount ? 0 : unreportedBytes,
    }
    if (span) endAttemptSpan(span, attempt)
    return attempt
  })
  return { ended }
}

function withoutReasoning(
  request: PreparedCall['request'],
  retry: ReasoningRetry | null,
): PreparedCall['request'] | null {
  const body = retry?.withoutReasoning(request.body) ?? null
  return body && { ...request, body }
}

function noteServed({ affinity }: AttemptNeeds, admission: Admission, { step, backend, isOnly }: Sending): void {
  backend.condition.noteAnswer()
  if (!isOnly && !step.isOfflineOnly) affinity.note(admission, backend.name)
}

const ACCESS_ENDED: StreamFailure = {
  code: 'unauthorized',
  type: 'authentication_error',
  message: 'The access was ended while the answer was on its way.',
}
