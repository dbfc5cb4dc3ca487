/** Errors of a backend, as callers get them. */
import { ApiError } from '../../../http/errors.ts'
import { parseShallowJson } from '../../../kernel/json.ts'
import type { DialectTraits } from '../../dialects/dialect.ts'
import { parseErrorBody } from '../../dialects/failures/error-body.ts'
import { readFailure } from '../../dialects/failures/failure.ts'
import type { Failure } from '../../dialects/failures/failure.ts'
import { isModelMissing } from '../../dialects/failures/missing-model.ts'
import { toJsonAnswer } from '../../exchange/answer.ts'
import type { WholeAnswer } from '../../exchange/answer.ts'
import type { CallStep } from './prepared-call.ts'

/** An answer of another shape comes from a server that does not know the operation, whatever its status. */
export function refuseOtherShape(
  { admission: { operation }, backend }: CallStep,
  dialect: DialectTraits,
  { body }: WholeAnswer,
): WholeAnswer | ApiError {
  if (operation.reach === 'own_dialect') return new ApiError('not_supported')
  backend.dialects.forget(operation.dialect)
  return writeMisreported(dialect, failureOf(body))
}

/** Writes a failure that the backend reported with the status of an answer. */
export function writeMisreported(dialect: DialectTraits, failure: Failure): WholeAnswer | ApiError {
  if (failure.kind === 'account') return new ApiError('upstream_refused_credential')
  return toJsonAnswer(dialect.errorAnswer(502, failure))
}

/**
 * What the caller gets of an error answer: the same, its failure in the dialect of the caller, or a refusal where the
 * backend lacks the model or the operation.
 */
export function relayError(call: CallStep, dialect: DialectTraits, answer: WholeAnswer): WholeAnswer | ApiError {
  const { status, body } = answer
  const failure = failureOf(body)
  const lacksModel = isModelMissing(status, failure.message, call.step.model)
  if (status === 404 || lacksModel) return refuseMissing(call, lacksModel)
  if (status === 501 && call.admission.operation.reach === 'own_dialect') return new ApiError('not_supported')
  if (status < 400) {
    const { title } = call.backend.traits
    return new ApiError('upstream_failed', { message: `The ${title} refused the gateway with status ${status}.` })
  }
  return showError(dialect, answer, failure)
}

/** An error of the backend itself, in the caller's dialect. */
export function showError(dialect: DialectTraits, answer: WholeAnswer, failure = failureOf(answer.body)): WholeAnswer {
  const { status, body } = answer
  const shown = dialect.errorAnswer(status, failure)
  const isReadable =
    dialect.isErrorBody(parseShallowJson(body.toString('utf8'))) &&
    shown.status === status &&
    failure.kind !== 'context'
  return isReadable ? answer : toJsonAnswer(shown)
}

/**
 * The backend lacks the model or does not know the operation. An operator can cure only the first, by loading the
 * model.
 */
function refuseMissing({ admission: { operation }, step, backend }: CallStep, lacksModel: boolean): ApiError {
  const isListed = backend.health.lastKnown(step.model) !== 'model_missing'
  if (operation.reach === 'own_dialect' && isListed) return new ApiError('not_supported')
  if (!lacksModel) backend.dialects.forget(step.dialect)
  return new ApiError('model_unavailable')
}

/** An engine may put anything into an error; a page is not shown in full. */
const MAX_ERROR_BYTES = 2_000

/** Reads the failure from the body of an error answer. `status` decides only where the body does not. */
export function failureOf(body: Buffer, status: number | null = null): Failure {
  const parsed = parseErrorBody(body)
  return readFailure(parsed === undefined ? body.toString('utf8', 0, MAX_ERROR_BYTES) : parsed, status)
}
