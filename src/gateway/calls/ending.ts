import type { ServerResponse } from 'node:http'
import { ApiError, ERRORS } from '../../http/errors.ts'
import { headersOf, knownRetryAfter, writeWhole } from '../exchange/answer.ts'
import type { KeptAnswer } from '../exchange/answer.ts'
import { judgedStatusOf } from '../exchange/outcome.ts'
import { chooseAnswer, findRetryAfter } from '../plan/best-answer.ts'
import type { FailedAnswer } from '../plan/best-answer.ts'
import { nameAttempts, toTried } from './attempt.ts'
import type { Attempt } from './attempt.ts'
import type { TriedPlan } from './try-in-order.ts'

/** How a call ends that no attempt has settled. */
export type Ending = {
  /** The attempt whose answer the caller gets; null: it gets none of a backend. */
  readonly by: Attempt | null
  /** What the caller gets. */
  readonly answer: KeptAnswer | ApiError
}

/**
 * Chooses what the caller gets when all backends have failed: the most useful of their answers. The refusal of a
 * translation counts only when no backend has answered: one that is busy now may support the request.
 * `planned` is the number of backends of the plan.
 */
export function chooseEnding({ attempts, refusals }: TriedPlan, planned: number): Ending {
  const last = attempts.at(-1)
  // This side has ended the call, so what the backends answered before does not matter.
  if (last?.outcome.kind === 'ended' && last.outcome.refusal) return { by: last, answer: last.outcome.refusal }
  const isAnswered = attempts.some(({ outcome }) => judgedStatusOf(outcome) !== null)
  const isRefusedByAll = refusals.length === planned
  const refused = isAnswered ? [] : refusals.map((one) => toRefused(isRefusedByAll ? one : nameOthers(one)))
  const failed = [...attempts.flatMap(toFailed), ...refused]
  const chosen = chooseAnswer(failed)
  if (!chosen) return { by: null, answer: new ApiError('model_unavailable') }
  const { by, answer, retryAfterSeconds } = chosen
  const earliest = findRetryAfter(failed)
  const isChanged = !(answer instanceof ApiError) && earliest !== null && earliest !== retryAfterSeconds
  return { by, answer: isChanged ? withRetryAfter(answer, earliest) : answer }
}

type Failed = FailedAnswer & { readonly by: Attempt | null; readonly answer: KeptAnswer | ApiError }

function toFailed(by: Attempt): readonly Failed[] {
  const { refusal, kept } = by.outcome
  if (refusal) {
    const status = judgedStatusOf(by.outcome)
    const isError = status !== null && status >= 400
    return [{ ...toRefused(refusal), by, ...(isError && { status }) }]
  }
  if (!kept) return []
  const retryAfterSeconds = knownRetryAfter(kept)
  return [{ by, answer: kept, status: kept.answer.status, retryAfterSeconds, isPermanent: false }]
}

function toRefused(answer: ApiError): Failed {
  const { status, permanent = false } = ERRORS[answer.code]
  return { by: null, answer, status, retryAfterSeconds: null, isPermanent: permanent }
}

/** Says that a refusal is not one of the model: the others of its backends may support the request. */
function nameOthers({ code, message }: ApiError): ApiError {
  return new ApiError(code, { message: `${message} The other backends of this model do not answer now.` })
}

function withRetryAfter(kept: KeptAnswer, seconds: number): KeptAnswer {
  const { status } = kept.answer
  if (status !== 429 && status < 500) return kept
  const { 'retry-after-ms': _dropped, ...others } = headersOf(kept)
  return { ...kept, head: { ...kept.head, headers: { ...others, 'retry-after': String(seconds) } } }
}

/** A caller that does not read an error for this long is disconnected. */
const MAX_UNREAD_MS = 60_000

/** Sends the caller what was chosen. A refusal is thrown. */
export function sendEnding(res: ServerResponse, { by, answer }: Ending, attempts: readonly Attempt[]): void {
  if (by) res.setHeader('x-svc-served-by', by.backend)
  else res.removeHeader('x-svc-served-by')
  if (attempts.length > 1) nameAttempts(res, attempts.map(toTried))
  if (answer instanceof ApiError) throw answer
  writeWhole(res, answer, MAX_UNREAD_MS)
}
