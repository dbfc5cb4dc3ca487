import type { ErrorRequestHandler, Request, Response } from 'express'
import type { Logger } from '../log.ts'
import { ApiError, ERRORS } from './errors.ts'
import type { ErrorCode } from './errors.ts'

/** Writes an error that has the request's answer to itself; false leaves it to the JSON writer. */
export type WriteErrorPage = (req: Request, res: Response, error: ApiError) => boolean

type Needs = {
  readonly log: Logger
  readonly isDatabaseUnavailable: (error: unknown) => boolean
  readonly writeErrorPage: WriteErrorPage
  /** Where to sign in. */
  readonly loginRoutes: { readonly deviceStart: string; readonly page: string }
}

/** The one place that writes errors. What is thrown and is not a refusal is a bug: logged in full, shown as `internal`. */
export function errorHandler(needs: Needs): ErrorRequestHandler {
  const { log, writeErrorPage, loginRoutes } = needs
  return (thrown: unknown, req, res, _next) => {
    const error = toApiError(thrown, req, needs)
    if (ERRORS[error.code].status >= 500) log.error({ requestId: req.id, code: error.code, err: thrown }, 'http.failed')
    // After the first byte no envelope can follow: a broken connection is the only honest end.
    if (res.headersSent) return void res.destroy()
    writeHeaders(res, error)
    if (writeErrorPage(req, res, error)) return
    res.status(ERRORS[error.code].status).json(bodyOf(error, loginRoutes))
  }
}

/** The error of an answer as JSON, for the few places that cannot go through Express. */
export function errorBody(code: ErrorCode, message: string) {
  return { type: 'error', error: { type: ERRORS[code].type, code, message } }
}

function bodyOf(error: ApiError, loginRoutes: Needs['loginRoutes']) {
  const body = errorBody(error.code, error.message)
  return error.code === 'authenticate_first' ? { ...body, auth: loginRoutes } : body
}

function writeHeaders(res: Response, error: ApiError): void {
  const { status, permanent } = ERRORS[error.code]
  res.set('Cache-Control', 'no-store')
  if (status === 401) res.set('WWW-Authenticate', 'Bearer')
  if (permanent) res.set('x-should-retry', 'false')
  if (error.retryAfterSeconds !== undefined)
    res.set('Retry-After', String(Math.max(1, Math.ceil(error.retryAfterSeconds))))
  if (error.allow !== undefined) res.set('Allow', error.allow)
}

function toApiError(thrown: unknown, req: Request, { isDatabaseUnavailable }: Needs): ApiError {
  if (thrown instanceof ApiError) return thrown
  // Before the database: a caller that hangs up in the middle of its body is told by a code that connections to databases end with too.
  const refused = fromMiddleware(thrown, req)
  if (refused) return refused
  return new ApiError(isDatabaseUnavailable(thrown) ? 'service_unavailable' : 'internal', { cause: thrown })
}

/** What the validator and the body parsers throw: an Error with a status. */
type MiddlewareError = {
  readonly status: number
  readonly message: string
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
}

function fromMiddleware(thrown: unknown, req: Request): ApiError | undefined {
  if (!isMiddlewareError(thrown)) return undefined
  switch (thrown.status) {
    case 400:
      return new ApiError('invalid_request', { message: messageOf(thrown), cause: thrown })
    case 404:
      return new ApiError('not_found')
    case 405:
      return new ApiError('method_not_allowed', { allow: allowOf(thrown.headers?.['Allow']) })
    case 413:
      return new ApiError('payload_too_large')
    case 415:
      return new ApiError('unsupported_media_type', { message: unsupportedMessage(req) })
    default:
      return undefined
  }
}

function isMiddlewareError(thrown: unknown): thrown is MiddlewareError {
  return thrown instanceof Error && 'status' in thrown && typeof thrown.status === 'number'
}

/** Names each field that is wrong. Parser messages are replaced: they quote the body. */
function messageOf({ errors, type }: MiddlewareError): string {
  if (errors && errors.length > 0) return `${[...new Set(errors.map(mistakeOf))].join('; ')}.`
  if (type === 'entity.parse.failed') return 'The body is not valid JSON.'
  if (type === 'request.aborted' || type === 'request.size.invalid') return 'The body ended early.'
  return type ? 'The body could not be decoded.' : ERRORS.invalid_request.message
}

/** `/body/email` is what a caller sent as `email`. */
function mistakeOf({ path, message }: { path: string; message: string }): string {
  const [, where = '', ...names] = path.split('/')
  if (where === 'body' && message.includes("required property 'body'")) return 'The body is missing'
  const field = where === 'body' ? names.join('.') || 'The body' : [where, ...names].join(' ')
  if (message.includes('additional properties')) return `${field} is not a field of this request`
  return `${field} ${message.replace(/^must have required property '.*'$/, 'is missing')}`
}

function allowOf(allow: string | undefined): string {
  const methods = (allow ?? '').toUpperCase().split(', ')
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', ')
}

function unsupportedMessage(req: Request): string {
  const types = Object.keys(req.openapi?.schema.requestBody?.content ?? {})
  const encoding = req.headers['content-encoding']
  if (encoding && types.includes(req.headers['content-type'] ?? ''))
    return `The content encoding ${JSON.stringify(encoding).slice(0, 40)} is not supported; gzip, deflate, br and zstd are.`
  return `Send the body as ${types.join(' or ') || 'application/json'}, in UTF-8.`
}
