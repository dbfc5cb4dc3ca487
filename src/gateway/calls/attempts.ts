import type { ServerResponse } from 'node:http'
import { ApiError } from '../../http/errors.ts'
import type { Backend } from '../backends/backend.ts'
import type { Backends } from '../backends/backends.ts'
import type { StreamFailure } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { scanUsage } from '../dialects/usage-scanner.ts'
import { FREE_USAGE } from '../dialects/usage.ts'
import { startExchange } from '../exchange/exchange.ts'
import { suggestsUnready, toRefusal } from '../exchange/outcome.ts'
import type { StreamKeepAlive } from '../exchange/stream-keep-alive.ts'
import type { Step } from '../plan/plan.ts'
import type { Attempt } from '../usage/events.ts'
import type { Admission } from './admit.ts'
import { prepareCall } from './prepare.ts'
import { recordStart } from './record.ts'
import type { RecordNeeds } from './record.ts'
import { releaseBody } from './request.ts'
import type { CallRequest } from './request.ts'

export type AttemptNeeds = RecordNeeds & {
  readonly backends: Backends
  readonly keepAlive: StreamKeepAlive
  /** Calls back when the session ends; returns a function that stops watching. */
  readonly watchSession: (sessionId: string, onEnd: () => void) => () => void
}

/** What became of a call. */
export type Served = {
  readonly attempts: readonly Attempt[]
  /** What the caller gets instead of an answer; null: it has got one, or it has left. */
  readonly refusal: ApiError | null
}

/**
 * Tries the steps of a plan in their order. The next one is tried only while no byte has left to a backend or to the
 * caller.
 */
export async function tryInOrder(
  needs: AttemptNeeds,
  admission: Admission,
  steps: readonly Step[],
  req: CallRequest,
  res: ServerResponse,
): Promise<Served> {
  const attempts: Attempt[] = []
  let refusal: ApiError | null = null
  let isOffline = true
  for (const step of steps) {
    const backend = needs.backends.find(step.backend)
    // The directory may have changed since the plan was made.
    if (!backend || (step.isOfflineOnly && !isOffline)) continue
    const sent = sendStep(needs, admission, step, backend, req, res)
    if (sent instanceof ApiError) {
      refusal ??= sent
      isOffline = false
      continue
    }
    if (step === steps.at(-1)) releaseBody(req)
    const stopWatching = needs.watchSession(admission.caller.sessionId, () => sent.exchange.end(ACCESS_ENDED))
    const outcome = await sent.exchange.outcome
    stopWatching()
    attempts.push({
      backend: backend.name,
      backendKind: backend.kind,
      model: step.model,
      sentAt: sent.sentAt,
      outcome,
      usage: admission.operation.isCount ? FREE_USAGE : sent.usage.end(),
    })
    if (suggestsUnready(outcome)) backend.health.recheck()
    refusal = toRefusal(outcome, backend.traits.failureCodes)
    if (outcome.kind !== 'unreachable') break
  }
  return { attempts, refusal: refusal ?? (attempts.length === 0 ? new ApiError('model_unavailable') : null) }
}

/** Not part of the loop, so that no body of a request stays on the stack of a call that takes minutes. */
function sendStep(
  needs: AttemptNeeds,
  admission: Admission,
  step: Step,
  backend: Backend,
  req: CallRequest,
  res: ServerResponse,
) {
  const { operation, model, calledAs, wantsStream } = admission
  const { backends, keepAlive, clock } = needs
  const mayBeTranslated = backends.mayTranslate()
  const { team } = admission.caller
  const prepared = prepareCall({ operation, model, calledAs, team, step, backend, mayBeTranslated, clock }, req)
  if (prepared instanceof ApiError) return prepared
  res.setHeader('x-svc-served-by', backend.name)
  const sentAt = recordStart(needs, admission, backend.name)
  const usage = scanUsage()
  const exchange = startExchange(backend, prepared.request, res, {
    dialect: DIALECTS[operation.dialect],
    wantsStream,
    rewrite: prepared.rewrite,
    filter: prepared.filter,
    keepAlive,
    observer: usage,
    clock,
  })
  return { exchange, usage, sentAt }
}

const ACCESS_ENDED: StreamFailure = {
  code: 'unauthorized',
  type: 'authentication_error',
  message: 'The access was ended while the answer was on its way.',
}
