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
  return `${field} ${message.replace(/^must have required property '.*'$/, 'is missing')}`
}

function toReadableTypes(req: Request): string {
  const types = Object.keys(req.operation?.requestBody?.content ?? {})
  return `Send the body as ${types.join(' or ') || 'application/json'}, in UTF-8.`
}
