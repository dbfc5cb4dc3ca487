import type { ErrorRequestHandler, Request, Response } from 'express'
import type { Logger } from '../log.ts'
import { ApiError, ERRORS } from './errors.ts'

/**
 * Writes an error as a page or in another form than the envelope, and returns true; false leaves it to the JSON writer.
 */
export type WriteErrorPage = (req: Request, res: Response, error: ApiError) => boolean

type Needs = {
  readonly log: Logger
  readonly isDatabaseUnavailable: (error: unknown) => boolean
  readonly writeErrorPage: WriteErrorPage
  /** The addresses of sign-in, which the errors `authenticate_first` and `reauthenticate` name. */
  readonly loginRoutes: { readonly deviceStart: string; readonly page: string }
}

/**
 * Writes every error. An `ApiError` is a refusal and shown as it is. Anything else is logged in full and shown as
 * `service_unavailable` when the database is unavailable, and as `internal` otherwise.
 */
export function errorHandler({ log, isDatabaseUnavailable, writeErrorPage, loginRoutes }: Needs): ErrorRequestHandler {
  const toApiError = (thrown: unknown) => {
    if (thrown instanceof ApiError) return thrown
    return new ApiError(isDatabaseUnavailable(thrown) ? 'service_unavailable' : 'internal', { cause: thrown })
  }
  return (thrown: unknown, req, res, _next) => {
    const error = toApiError(thrown)
    const { status } = ERRORS[error.code]
    req.errorCode = error.code
    if (status >= 500) logFailure(log, error, { requestId: req.id, code: error.code })
    // After the first byte, no error body can follow. A broken connection tells the client that the answer is
    // incomplete.
    if (res.headersSent) return void res.destroy()
    writeHeaders(res, error)
    if (writeErrorPage(req, res, error)) return
    res.status(status).json(toBody(error, loginRoutes))
  }
}

/** Logs a refusal by its message, and its cause with the stack. */
function logFailure(log: Logger, error: ApiError, fields: { requestId: string; code: string }): void {
  // A 501 refuses an operation that no backend of the model has, so nothing has failed.
  if (ERRORS[error.code].status === 501) return log.info({ ...fields, reason: error.message }, 'http.not_supported')
  const { message: reason, cause: err } = error
  log.error({ ...fields, reason, ...(err !== undefined && { err }) }, 'http.request_failed')
}

/** The error envelope; an error that a sign-in solves also says where to sign in. */
function toBody({ code, message, resetsAt }: ApiError, loginRoutes: Needs['loginRoutes']) {
  const resets = resetsAt && { resets_at: Math.floor(resetsAt.getTime() / 1000) }
  const { type, isDetail } = ERRORS[code]
  const details = isDetail && { details: { error_code: code } }
  const body = { type: 'error', error: { type, code, message, ...resets, ...details } }
  return SOLVED_BY_SIGN_IN.has(code) ? { ...body, auth: loginRoutes } : body
}

const SOLVED_BY_SIGN_IN: ReadonlySet<string> = new Set(['authenticate_first', 'reauthenticate'])

function writeHeaders(res: Response, error: ApiError): void {
  const { status, permanent, messageHeader } = ERRORS[error.code]
  res.set('Cache-Control', 'no-store')
  if (messageHeader !== undefined) res.set(messageHeader, toHeaderText(error.message))
  if (status === 401) res.set('WWW-Authenticate', toChallenge(error))
  // Claude Code gives up on this header without asking its token command again.
  if (permanent && !error.isSolvedByRefresh) res.set('x-should-retry', 'false')
  // opencode ignores the header above and shows the message after five retries. Without this one, the pauses between
  // them take more than a minute in all.
  if (permanent && status >= 500) res.set('retry-after-ms', '1000')
  if (error.retryAfterSeconds !== undefined) res.set('Retry-After', String(error.retryAfterSeconds))
  if (error.allow !== undefined) res.set('Allow', error.allow)
}

/** A message as a header: in ASCII, and without its last period, because the client continues the sentence. */
function toHeaderText(message: string): string {
  return message.replace(/\.$/, '').replaceAll(/[^\x20-\x7e]/g, '?')
}

/** What to authenticate with. Where a token was sent, also what is wrong with it (RFC 6750, section 3). */
function toChallenge({ isInvalidToken, message }: ApiError): string {
  return isInvalidToken ? `Bearer error="invalid_token", error_description="${message}"` : 'Bearer'
}
