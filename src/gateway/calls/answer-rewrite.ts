import { ApiError } from '../../http/errors.ts'
import { isDeeperThan, MAX_JSON_DEPTH } from '../../kernel/json-depth.ts'
import type { Backend } from '../backends/backend.ts'
import type { DialectTraits } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { readFailure } from '../dialects/failure.ts'
import type { Failure } from '../dialects/failure.ts'
import type { Json } from '../dialects/json/read-json.ts'
import { renameAnswer } from '../dialects/rename-model.ts'
import { makeStreamRewriter } from '../dialects/sse/rewrite.ts'
import type { AnswerTranslation } from '../dialects/translate.ts'
import type { AnswerRewrite, WholeAnswer } from '../exchange/relay.ts'
import type { Operation } from './operations.ts'

/** What a rewrite needs of a call. Nothing of the request, which would be kept until the answer ends. */
export type RewrittenCall = {
  readonly operation: Operation
  readonly backend: Backend
  /** The name that the caller asked for, which the answer repeats. */
  readonly model: string
  /** The model's name at the backend. */
  readonly backendModel: string
}

/**
 * For answers in the caller's dialect: they name the service's model, and a stream that breaks off never looks
 * complete.
 */
export function renameAnswers(call: RewrittenCall & { readonly hidesUsage: boolean }): AnswerRewrite {
  const { operation, model, hidesUsage } = call
  const dialect = DIALECTS[operation.dialect]
  return {
    isTranslated: false,
    stream: () => makeStreamRewriter(dialect.passStream({ model, hidesUsage }), dialect.keepAlive),
    whole(answer) {
      if (answer.status >= 300) return readError(call, dialect, answer)
      const body = renameAnswer(answer.body, model, operation.isAnswer)
      return body ? { status: answer.status, body, contentType: JSON_TYPE } : readOtherShape(call, dialect, answer)
    },
  }
}

/** For answers in another dialect than the caller's. */
export function translateAnswers(call: RewrittenCall, { stream, whole }: AnswerTranslation): AnswerRewrite {
  const dialect = DIALECTS[call.operation.dialect]
  const { keepsStatus } = call.backend.traits
  return {
    isTranslated: true,
    stream: () => makeStreamRewriter(stream(), dialect.keepAlive),
    whole(answer) {
      const isError = answer.status >= 300
      if (isError && keepsStatus) return readError(call, dialect, answer)
      if (isError) return toFailureAnswer(dialect, failureOf(answer.body, answer.status))
      const made = whole(parse(answer.body))
      if ('answer' in made) return toJson({ status: answer.status, body: made.answer })
      return keepsStatus ? toFailed(dialect, made.failed) : toFailureAnswer(dialect, made.failed)
    },
  }
}

function toFailureAnswer(dialect: DialectTraits, failure: Failure): WholeAnswer | ApiError {
  if (failure.kind === 'account') return new ApiError('upstream_refused_credential')
  const answer = toJson(dialect.failureAnswer(failure))
  return failure.kind === 'rateLimit' ? { ...answer, defaults: { 'retry-after': '1' } } : answer
}

/** An answer of another shape comes from a server that does not know the operation, whatever its status. */
function readOtherShape({ operation, backend }: RewrittenCall, dialect: DialectTraits, { body }: WholeAnswer) {
  if (operation.reach === 'own_dialect') return new ApiError('not_supported')
  backend.dialects.forget(operation.dialect)
  return toFailed(dialect, failureOf(body))
}

/** A failure that the backend reported with the status of an answer. */
function toFailed(dialect: DialectTraits, failure: Failure): WholeAnswer | ApiError {
  if (failure.kind === 'account') return new ApiError('upstream_refused_credential')
  return toJson(dialect.errorAnswer(502, failure))
}

function readError(call: RewrittenCall, dialect: DialectTraits, answer: WholeAnswer): WholeAnswer | ApiError {
  const { status, body } = answer
  const failure = failureOf(body)
  if (status === 404 || (status === 400 && MODEL_NOT_FOUND.test(failure.message))) return refuseMissing(call)
  if (status === 501 && call.operation.reach === 'own_dialect') return new ApiError('not_supported')
  if (status < 400) {
    const { title } = call.backend.traits
    return new ApiError('upstream_failed', { message: `The ${title} refused the gateway with status ${status}.` })
  }
  const shown = dialect.errorAnswer(status, failure)
  const isReadable = dialect.isErrorBody(parse(body)) && shown.status === status && failure.kind !== 'context'
  return isReadable ? answer : toJson(shown)
}

/** llama.cpp's words where it serves several models. */
const MODEL_NOT_FOUND = /^model '.*' not found$/

/**
 * The backend lacks the model or does not know the operation. An operator can cure only the first, by loading the
 * model.
 */
function refuseMissing({ operation, backend, backendModel }: RewrittenCall): ApiError {
  const isModelMissing = backend.health.lastKnown(backendModel) === 'model_missing'
  if (operation.reach === 'own_dialect' && !isModelMissing) return new ApiError('not_supported')
  if (operation.reach === 'any_dialect') backend.dialects.forget(operation.dialect)
  return new ApiError('model_unavailable')
}

/** An engine may put anything into an error; a page is not shown in full. */
const MAX_ERROR_BYTES = 2_000

function failureOf(body: Buffer, status: number | null = null): Failure {
  const parsed = parse(body)
  return readFailure(parsed === undefined ? body.toString('utf8', 0, MAX_ERROR_BYTES) : parsed, status)
}

function parse(body: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return isDeeperThan(value, MAX_JSON_DEPTH) ? undefined : value
  } catch {
    return undefined
  }
}

const JSON_TYPE = 'application/json'

function toJson({ status, body }: { status: number; body: Json }): WholeAnswer {
  return { status, body: Buffer.from(JSON.stringify(body)), contentType: JSON_TYPE }
}
