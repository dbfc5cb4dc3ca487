import { isUtf8 } from 'node:buffer'
import express from 'express'
import type { Request, RequestHandler } from 'express'
import { countValues, findRepeatedName, MAX_JSON_DEPTH } from '../kernel/json.ts'
import { ApiError } from './errors.ts'
import { FORM_TYPE, JSON_TYPE } from './validation/content-type.ts'

/** Whether a request carries a body (RFC 9112, section 6). */
export function hasBody(req: Pick<Request, 'headers'>): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
}

/** Whether the body is an HTML form's. */
export function isForm(req: Pick<Request, 'headers'>): boolean {
  return req.headers['content-type'] === FORM_TYPE
}

function requireUtf8(_req: unknown, _res: unknown, bytes: Buffer): void {
  if (!isUtf8(bytes)) throw new ApiError('invalid_request', { message: NOT_UTF8 })
}

/** Other servers and logs on the way may read the first one of two equal names. `JSON.parse` reads the last one. */
function requireUniqueNames(req: unknown, res: unknown, bytes: Buffer): void {
  requireUtf8(req, res, bytes)
  const name = findRepeatedName(bytes.toString())
  if (name !== null)
    throw new ApiError('invalid_request', { message: `The field ${name} is in the body twice. Send each field once.` })
}

/** The time in which a client must send a small body. */
const SMALL_BODY_TIMEOUT_MS = 10_000

/**
 * Reads a small JSON or form body into `req.body`. `larger` names the paths of the contract whose JSON may have another
 * limit. A body that has not arrived after ten seconds is refused and its connection closed, so that slow senders do
 * not hold connections.
 */
export function smallBody(
  limitBytes: number,
  larger: { readonly paths: readonly string[]; readonly limitBytes: number } = { paths: [], limitBytes },
): RequestHandler {
  // With `strict`, the parser would say of `null` that it is not JSON. The contract says which values are objects.
  const options = { strict: false, type: JSON_TYPE, verify: requireUniqueNames }
  const jsonUpTo = (limit: number) => within(limit, express.json({ ...options, limit }))
  const json = jsonUpTo(limitBytes)
  const largerJson = jsonUpTo(larger.limitBytes)
  const form = within(
    limitBytes,
    express.urlencoded({ limit: limitBytes, extended: false, type: FORM_TYPE, verify: requireUtf8 }),
  )
  return withTimeout(SMALL_BODY_TIMEOUT_MS, (req, res, next) => {
    const read = isForm(req) ? form : larger.paths.includes(req.contractPath ?? '') ? largerJson : json
    return read(req, res, (error?: unknown) => next(error ?? judgeDepth(countValues(req.body, MAX_JSON_DEPTH))))
  })
}

/**
 * The refusal of a body that is nested too deep for the code that reads it; undefined for any other. `values`: as
 * `countValues` has counted them to `MAX_JSON_DEPTH`.
 */
export function judgeDepth(values: number): ApiError | undefined {
  if (values !== Infinity) return undefined
  return new ApiError('invalid_request', {
    message: `The body nests objects and lists more than ${MAX_JSON_DEPTH} deep. Flatten it.`,
  })
}

export const NOT_UTF8 = 'The body is not valid UTF-8.'

/**
 * Refuses by the declared length, because the parsers read a body that is too large to its end before they refuse it.
 */
function within(limitBytes: number, parser: RequestHandler): RequestHandler {
  return (req, res, next) => {
    const isTooLarge = Number(req.headers['content-length'] ?? 0) > limitBytes
    if (isTooLarge) next(new ApiError('payload_too_large'))
    else parser(req, res, (error?: unknown) => next(isParserError(error) ? toApiError(error, req) : error))
  }
}

/** Refuses a body that does not arrive in time, and closes the connection. */
function withTimeout(timeoutMs: number, read: RequestHandler): RequestHandler {
  return (req, res, next) => {
    let isOver = false
    const proceed = (error?: unknown) => {
      clearTimeout(timer)
      // After the timeout, the parser reports another error when the connection closes.
      if (!isOver) next(error)
      isOver = true
    }
    const timer = setTimeout(() => {
      res.set('Connection', 'close')
      proceed(new ApiError('invalid_request', { message: 'The body did not arrive in time.' }))
    }, timeoutMs)
    return read(req, res, proceed)
  }
}

/** An error of Express's body parsers (body-parser, "Errors"). Their messages are not shown: they quote the body. */
type ParserError = Error & { readonly status: number; readonly type?: string }

function isParserError(error: unknown): error is ParserError {
  if (!(error instanceof Error) || error instanceof ApiError || !('status' in error)) return false
  return typeof error.status === 'number' && error.status < 500
}

function toApiError(error: ParserError, req: Request): ApiError {
  const { status, type } = error
  if (status === 413) return new ApiError('payload_too_large')
  if (status === 415) return new ApiError('unsupported_media_type', { message: unsupportedEncoding(req) })
  return new ApiError('invalid_request', { message: decodingMistake(type), cause: error })
}

function decodingMistake(type: string | undefined): string {
  if (type === 'entity.parse.failed') return 'The body is not valid JSON.'
  if (type === 'request.aborted' || type === 'request.size.invalid') return 'The body ended early.'
  return 'The body could not be decoded.'
}

/** Says that a content encoding is not decoded here. */
export function unsupportedEncoding({ headers: { 'content-encoding': encoding = '' } }: Request): string {
  const shown = JSON.stringify(encoding).slice(0, 40)
  return `The content encoding ${shown} is not supported. Use gzip, deflate, br or zstd.`
}
