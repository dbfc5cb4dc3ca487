import type { Request, RequestHandler } from 'express'
import { ApiError, ERRORS } from '../errors.ts'

/** What the validator passes to `next`: an Error with a status, and for status 400 the list of mistakes. */
type ValidatorError = Error & {
  readonly status: number
  readonly errors?: readonly Mistake[]
}

type Mistake = { readonly path: string; readonly message: string }

/** Runs a step of the validator and passes its errors on as `ApiError`s. */
export function withApiErrors(step: RequestHandler): RequestHandler {
  return (req, res, next) =>
    step(req, res, (error?: unknown) => next(isValidatorError(error) ? toApiError(error, req) : error))
}

function isValidatorError(error: unknown): error is ValidatorError {
  return error instanceof Error && 'status' in error && typeof error.status === 'number'
}

function toApiError(error: ValidatorError, req: Request): Error {
  switch (error.status) {
    case 400:
      return new ApiError('invalid_request', { message: toMessage(error), cause: error })
    case 415:
      return new ApiError('unsupported_media_type', { message: toReadableTypes(req) })
    default:
      return error
  }
}

/** Names each field that is wrong. */
function toMessage({ errors = [] }: ValidatorError): string {
  return errors.length > 0 ? `${[...new Set(errors.map(describe))].join('; ')}.` : ERRORS.invalid_request.message
}

/** Describes a mistake in terms of what the client sent: `/body/email` is its field `email`. */
function describe({ path, message }: Mistake): string {
  const [, where = '', ...names] = path.split('/')
  if (where === 'body' && message.includes("required property 'body'")) return 'The body is missing'
  const field = where === 'body' ? names.join('.') || 'The body' : [where, ...names].join(' ')
  if (message.includes('additional properties')) return `${field} is not a field of this request`
  return `${field} ${REWORDED.reduce((words, [pattern, better]) => words.replace(pattern, better), message)}`
}

/** The validator's words, and those that people read instead. */
const REWORDED: readonly (readonly [RegExp, string])[] = [
  [/^must have required property '.*'$/, 'is missing'],
  [/^must NOT have fewer than 1 (characters|items)$/, 'must not be empty'],
  [/^must NOT have fewer than (\d+) (characters|items)$/, 'must have at least $1 $2'],
  [/^must NOT have more than (\d+) (characters|items)$/, 'must have at most $1 $2'],
]

function toReadableTypes(req: Request): string {
  const types = Object.keys(req.operation?.requestBody?.content ?? {})
  return `Send the body as ${types.join(' or ') || 'application/json'}, in UTF-8.`
}
