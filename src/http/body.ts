import { isUtf8 } from 'node:buffer'
import express from 'express'
import type { Request, RequestHandler } from 'express'
import { isDeeperThan, MAX_JSON_DEPTH, MAX_JSON_VALUES, TooManyValues } from '../kernel/json.ts'
import type { BodyBudget } from './body-budget.ts'
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
  const json = within(limitBytes, express.json({ limit: limitBytes, type: JSON_TYPE, verify: requireUtf8 }))
  const largerJson = within(
    larger.limitBytes,
    express.json({ limit: larger.limitBytes, type: JSON_TYPE, verify: requireUtf8 }),
  )
  const form = within(
    limitBytes,
    express.urlencoded({ limit: limitBytes, extended: false, type: FORM_TYPE, verify: requireUtf8 }),
  )
  return withTimeout(SMALL_BODY_TIMEOUT_MS, (req, res, next) => {
    const read = isForm(req) ? form : larger.paths.includes(req.contractPath ?? '') ? largerJson : json
    return read(req, res, (error?: unknown) => next(error ?? judgeDepth(req.body)))
  })
}

/**
 * Sets `req.body`, and what else a role keeps of a body. The bytes are valid UTF-8. Throws when they are not JSON, and
 * `TooManyValues`.
 */
type SetBody = (req: Request, bytes: Buffer) => void

type CallBodyNeeds = {
  /** Of one body, decompressed. */
  readonly limitBytes: number
  /** For all bodies together. */
  readonly budget: BodyBudget
  readonly setBody: SetBody
}

/** Smaller bodies are not counted, because their number is bounded by the connections of the process. */
const MIN_COUNTED_BYTES = 64 * 1024

/**
 * Reads the JSON body of a model call, which is parsed once. `setBody` gets it decompressed (gzip, deflate, br, zstd).
 * A large body counts until the answer begins or the connection closes, and gets 503 when the budget has no room.
 */
export function callBody({ limitBytes, budget, setBody }: CallBodyNeeds): RequestHandler {
  const inflate = within(limitBytes, express.raw({ limit: limitBytes, type: () => true }))
  const collect = within(limitBytes, collectBody(limitBytes))
  return (req, res, next) => {
    if (req.headers['content-type'] !== JSON_TYPE) return next()
    const size = largestSizeOf(req, limitBytes)
    // A caller that left during authentication has closed the response: nothing would give its room back.
    const held = size < MIN_COUNTED_BYTES || res.closed ? undefined : budget.take(size)
    if (held === null) return next(new ApiError('service_unavailable', NO_ROOM))
    if (held) {
      req.heldBody = held
      res.once('close', held.release)
    }
    const read = req.headers['content-encoding'] === undefined ? collect : inflate
    read(req, res, (error?: unknown) => {
      if (error) return next(error)
      // Both readers leave a Buffer.
      const bytes = req.body as Buffer
      held?.resize(bytes.length)
      // Decoding would replace invalid bytes, and a backend that reads them differently would get another message.
      if (!isUtf8(bytes)) return next(new ApiError('invalid_request', { message: NOT_UTF8 }))
      try {
        setBody(req, bytes)
      } catch (error) {
        const message = error instanceof TooManyValues ? TOO_MANY_VALUES : 'The body is not valid JSON.'
        return next(new ApiError('invalid_request', { message }))
      }
      next(judgeDepth(req.body))
    })
  }
}

const NO_ROOM = { message: 'Too many large requests are running. Try again.', retryAfterSeconds: 1 }

/** The size that a body may have: its declared one, or the limit where that is unknown before it is read. */
function largestSizeOf({ headers }: Request, limitBytes: number): number {
  const { 'content-length': length, 'content-encoding': encoding } = headers
  return length === undefined || encoding !== undefined ? limitBytes : Math.min(Number(length), limitBytes)
}

/** The refusal of a body that is nested too deep for the code that reads it; undefined for any other. */
function judgeDepth(body: unknown): ApiError | undefined {
  if (!isDeeperThan(body, MAX_JSON_DEPTH)) return undefined
  return new ApiError('invalid_request', {
    message: `The body nests objects and lists more than ${MAX_JSON_DEPTH} deep. Flatten it.`,
  })
}

const NOT_UTF8 = 'The body is not valid UTF-8.'
const TOO_MANY_VALUES = `The body has more than ${MAX_JSON_VALUES.toLocaleString('en')} names and values. Send fewer.`

/**
 * Reads an uncompressed body into `req.body`. `express.raw` does the same, but takes ten times as long for the body of
 * a small model call.
 */
function collectBody(limitBytes: number): RequestHandler {
  return (req, _res, next) => {
    const chunks: Buffer[] = []
    let size = 0

    function stop(error?: ApiError): void {
      // Without listeners, the chunks can be collected as garbage while the call runs.
      req.off('data', take).off('end', finish).off('close', refuse)
      next(error)
    }
    function take(chunk: Buffer): void {
      size += chunk.length
      if (size > limitBytes) stop(new ApiError('payload_too_large'))
      else chunks.push(chunk)
    }
    function finish(): void {
      req.body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size)
      stop()
    }
    function refuse(): void {
      stop(new ApiError('invalid_request', { message: 'The body ended early.' }))
    }
    if (req.destroyed) refuse()
    else req.on('data', take).on('end', finish).on('close', refuse)
  }
}

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

function unsupportedEncoding({ headers: { 'content-encoding': encoding = '' } }: Request): string {
  const shown = JSON.stringify(encoding).slice(0, 40)
  return `The content encoding ${shown} is not supported. Use gzip, deflate, br or zstd.`
}
