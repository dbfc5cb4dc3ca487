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

/**
 * Describes a mistake in terms of what the client sent: `/body/email` is its field `email`, and `/query/limit` is
 * `limit in the query`.
 */
function describe({ path, message }: Mistake): string {
  const [, where = '', ...names] = path.split('/')
  if (where === 'body' && message.includes("required property 'body'")) return 'The body is missing'
  const name = names.join('.')
  const field = where === 'body' ? name || 'The body' : `${name} in the ${where === 'params' ? 'path' : where}`
  if (message.includes('additional properties')) return `${field} is not a field of this request`
  const words = message.replace(/^must be ([a-z,]+)$/, (_all, types: string) => `must be ${toTypes(types)}`)
  return `${field} ${REWORDED.reduce((reworded, [pattern, better]) => reworded.replace(pattern, better), words)}`
}

/** The types that a value may have: `string,null` is `a text or null`. */
function toTypes(types: string): string {
  return types
    .split(',')
    .map((type) => TYPES.get(type) ?? type)
    .join(' or ')
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['string', 'a text'],
  ['object', 'an object'],
  ['array', 'a list'],
  ['number', 'a number'],
  ['integer', 'a whole number'],
  ['boolean', 'true or false'],
])

/** The validator's words, and those that people read instead. */
const REWORDED: readonly (readonly [RegExp, string])[] = [
  [/^must have required property '.*'$/, 'is missing'],
  [/^must NOT have fewer than 1 (characters|items)$/, 'must not be empty'],
  [/^must NOT have fewer than (\d+) (characters|items)$/, 'must have at least $1 $2'],
  [/^must NOT have more than (\d+) (characters|items)$/, 'must have at most $1 $2'],
  [/^must match format "uuid"$/, 'must be a UUID'],
  [/^must match format "date"$/, 'must be a day such as 2026-11-26'],
  [/^must match format "date-time"$/, 'must be a time such as 2026-11-26T09:00:00Z'],
]

function toReadableTypes(req: Request): string {
  const types = Object.keys(req.operation?.requestBody?.content ?? {})
  return `Send the body as ${types.join(' or ') || 'application/json'}, in UTF-8.`
}
