import express from 'express'
import type { Request, RequestHandler } from 'express'
import { ApiError } from './errors.ts'

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

/** What every type that nobody reads is called: one word, so that nothing is kept per made-up type. */
const UNREADABLE = 'application/octet-stream'

/** Whether a request carries a body (RFC 9112, section 6). */
export function hasBody(req: Pick<Request, 'headers'>): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
}

/**
 * Reduces `Content-Type` to a bare media type that this service knows. The validator compiles and keeps a checker for each
 * distinct value for ever, so a stranger's `x/1`, `x/2`, ... would fill the memory.
 */
export const plainContentType: RequestHandler = (req, _res, next) => {
  const sent = req.headers['content-type']
  if (sent !== undefined) req.headers['content-type'] = plainType(sent)
  next()
}

/** JSON and forms are UTF-8 (RFC 8259, section 8.1; WHATWG URL, section 5.1); a body that says otherwise is unreadable. */
export function plainType(sent: string): string {
  const [type = '', ...parameters] = sent.toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  const utf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset)
  return utf8 && [JSON_TYPE, FORM_TYPE].includes(type.trim()) ? type.trim() : UNREADABLE
}

/** Whether the body is a form's. */
export function isForm(req: Pick<Request, 'headers'>): boolean {
  return req.headers['content-type'] === FORM_TYPE
}

/** How long a caller may take to send a small body. */
const SMALL_BODY_MS = 10_000

/**
 * Reads a small JSON or form body; `larger` names the paths whose JSON may be that much larger. A body that has not arrived in
 * ten seconds is refused and its connection closed: nobody holds one open a byte at a time.
 */
export function smallBody(
  limitBytes: number,
  larger: { readonly paths: readonly string[]; readonly limitBytes: number } = { paths: [], limitBytes },
): RequestHandler {
  const json = within(limitBytes, express.json({ limit: limitBytes, type: JSON_TYPE }))
  const largerJson = within(larger.limitBytes, express.json({ limit: larger.limitBytes, type: JSON_TYPE }))
  const form = within(limitBytes, express.urlencoded({ limit: limitBytes, extended: false, type: FORM_TYPE }))
  return inTime(SMALL_BODY_MS, (req, res, next) => {
    const read = isForm(req) ? form : larger.paths.includes(req.path) ? largerJson : json
    return read(req, res, next)
  })
}

/**
 * Reads the JSON body of a model call: `req.bytes` as they arrived, decompressed (gzip, deflate, br, zstd), `req.body` parsed once. The
 * limit counts decompressed bytes.
 */
export function callBody(limitBytes: number): RequestHandler {
  const inflate = within(limitBytes, express.raw({ limit: limitBytes, type: () => true }))
  const collect = within(limitBytes, collectBody(limitBytes))
  return (req, res, next) => {
    if (req.headers['content-type'] !== JSON_TYPE) return next()
    const read = req.headers['content-encoding'] === undefined ? collect : inflate
    read(req, res, (error?: unknown) => {
      if (error) return next(error)
      // Both leave a Buffer.
      const bytes = req.body as Buffer
      req.bytes = bytes
      try {
        req.body = JSON.parse(bytes.toString('utf8')) as unknown
      } catch {
        return next(new ApiError('invalid_request', { message: 'The body is not valid JSON.' }))
      }
      next()
    })
  }
}

/** Leaves a body that is not compressed in `req.body`. `express.raw` does it too, and takes a tenth of a small model call for it. */
function collectBody(limitBytes: number): RequestHandler {
  return (req, _res, next) => {
    const chunks: Buffer[] = []
    let size = 0

    function stop(error?: ApiError): void {
      // What was read is not kept for as long as the answer takes.
      req.off('data', take).off('end', finish).off('close', cut)
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
    function cut(): void {
      stop(new ApiError('invalid_request', { message: 'The body ended early.' }))
    }
    if (req.destroyed) cut()
    else req.on('data', take).on('end', finish).on('close', cut)
  }
}

/** Refuses by the length that a request declares: the parsers read what is too large to its end before they say so. */
function within(limitBytes: number, read: RequestHandler): RequestHandler {
  return (req, res, next) => {
    const isTooLarge = Number(req.headers['content-length'] ?? 0) > limitBytes
    if (isTooLarge) next(new ApiError('payload_too_large'))
    else read(req, res, next)
  }
}

/** Refuses a body that does not arrive in time, and hangs up: the rest of it could come for ever. */
function inTime(timeoutMs: number, read: RequestHandler): RequestHandler {
  return (req, res, next) => {
    let isOver = false
    const goOn = (error?: unknown) => {
      clearTimeout(timer)
      // The parser speaks up again when the connection closes.
      if (!isOver) next(error)
      isOver = true
    }
    const timer = setTimeout(() => {
      res.set('Connection', 'close')
      goOn(new ApiError('invalid_request', { message: 'The body did not arrive in time.' }))
    }, timeoutMs)
    return read(req, res, goOn)
  }
}
