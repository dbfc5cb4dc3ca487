import { isUtf8 } from 'node:buffer'
import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import express from 'express'
import type { Request, RequestHandler } from 'express'
import { toCount } from '../kernel/formats/number-format.ts'
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
 * A large body counts until the answer begins or the connection closes, and gets 503 when the budget has no room. One
 * whose size is not known before it is read counts as it arrives.
 */
export function callBody({ limitBytes, budget, setBody }: CallBodyNeeds): RequestHandler {
  return (req, res, next) => {
    if (req.headers['content-type'] !== JSON_TYPE) return next()
    const declared = declaredSizeOf(req)
    if (Number(req.headers['content-length'] ?? 0) > limitBytes) return next(new ApiError('payload_too_large'))
    // A caller that left during authentication has closed the response: nothing would give its room back.
    const isCounted = !res.closed && (declared === null || declared >= MIN_COUNTED_BYTES)
    const held = isCounted ? budget.take(declared ?? 0) : undefined
    if (held === null) return next(new ApiError('service_unavailable', NO_ROOM))
    if (held) {
      req.heldBody = held
      res.once('close', held.release)
    }
    const judgeSize = (size: number) => {
      if (size > limitBytes) return new ApiError('payload_too_large')
      const hasRoom = declared !== null || size < MIN_COUNTED_BYTES || !held || held.resize(size)
      return hasRoom ? null : new ApiError('service_unavailable', NO_ROOM)
    }
    const decoder = openDecoder(req)
    if (decoder instanceof ApiError) return next(decoder)
    readBody(req, decoder, judgeSize, (bytes) => {
      if (bytes instanceof ApiError) return next(bytes)
      held?.resize(bytes.length)
      // Decoding would replace invalid bytes, and a backend that reads them differently would get another message.
      if (!isUtf8(bytes)) return next(new ApiError('invalid_request', { message: NOT_UTF8 }))
      try {
        setBody(req, bytes)
      } catch (error) {
        const message = error instanceof TooManyValues ? tooManyValues() : 'The body is not valid JSON.'
        return next(new ApiError('invalid_request', { message }))
      }
      next(judgeDepth(req.body))
    })
  }
}

const NO_ROOM = { message: 'Too many large requests are running. Try again.', retryAfterSeconds: 1 }

/** The size of a body; null where it is unknown before the body is read. */
function declaredSizeOf({ headers }: Request): number | null {
  const { 'content-length': length, 'content-encoding': encoding } = headers
  return length === undefined || encoding !== undefined ? null : Number(length)
}

/** The refusal of a body that is nested too deep for the code that reads it; undefined for any other. */
function judgeDepth(body: unknown): ApiError | undefined {
  if (!isDeeperThan(body, MAX_JSON_DEPTH)) return undefined
  return new ApiError('invalid_request', {
    message: `The body nests objects and lists more than ${MAX_JSON_DEPTH} deep. Flatten it.`,
  })
}

const NOT_UTF8 = 'The body is not valid UTF-8.'

function tooManyValues(): string {
  return `The body has more than ${toCount(MAX_JSON_VALUES)} names and values. Send fewer.`
}

/** The decoders of content encodings (RFC 9110, section 8.4.1). */
const DECODERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  ['zstd', createZstdDecompress],
])

/** What decodes a body; null where it is not encoded. */
function openDecoder(req: Request): Transform | null | ApiError {
  const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase()
  if (encoding === 'identity') return null
  const decoder = DECODERS.get(encoding)?.()
  return decoder ?? new ApiError('unsupported_media_type', { message: unsupportedEncoding(req) })
}

/**
 * Reads a body, and decompresses it. `judgeSize` refuses it by the bytes that there are so far. `express.raw` takes ten
 * times as long for the body of a small model call, and says nothing of a body before its end.
 */
function readBody(
  req: Request,
  decoder: Transform | null,
  judgeSize: (size: number) => ApiError | null,
  done: (read: Buffer | ApiError) => void,
): void {
  const source = decoder ? req.pipe(decoder) : req
  const chunks: Buffer[] = []
  let size = 0

  function stop(read: Buffer | ApiError): void {
    // Without listeners, the chunks can be collected as garbage while the call runs.
    source.off('data', take).off('end', finish)
    req.off('close', refuse)
    decoder?.off('error', refuseEncoded)
    if (decoder && read instanceof ApiError) {
      req.unpipe(decoder).resume()
      decoder.destroy()
    }
    done(read)
  }
  function take(chunk: Buffer): void {
    size += chunk.length
    const refusal = judgeSize(size)
    if (refusal) stop(refusal)
    else chunks.push(chunk)
  }
  function finish(): void {
    stop(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size))
  }
  function refuse(): void {
    // The decoder may still be busy with a body that has arrived completely.
    if (!req.readableEnded) stop(new ApiError('invalid_request', { message: 'The body ended early.' }))
  }
  function refuseEncoded(cause: Error): void {
    stop(new ApiError('invalid_request', { message: 'The body could not be decoded.', cause }))
  }
  if (req.destroyed) return refuse()
  source.on('data', take).on('end', finish)
  req.on('close', refuse)
  // The second listener is for an error of a body that was refused before.
  decoder?.on('error', refuseEncoded).on('error', () => undefined)
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
