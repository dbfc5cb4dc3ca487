import { isUtf8 } from 'node:buffer'
import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import type { Request, RequestHandler } from 'express'
import { toCount } from '../kernel/formats/number-format.ts'
import { countValues, MAX_JSON_DEPTH, MAX_JSON_VALUES, TooManyValues } from '../kernel/json.ts'
import { ByteChunks } from '../kernel/pieces.ts'
import { CountedBody } from './body-budget.ts'
import type { BodyBudget } from './body-budget.ts'
import { judgeDepth, NOT_UTF8, unsupportedEncoding } from './body.ts'
import { ApiError } from './errors.ts'
import { JSON_TYPE } from './validation/content-type.ts'

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
  /** Drops what `setBody` has set, because a refused request lives until its caller has the refusal. */
  readonly releaseBody: (req: Request) => void
}

/** What an empty object takes when it is parsed. */
const BYTES_PER_VALUE = 64

/**
 * Reads the JSON body of a model call, which is parsed once. `setBody` gets it decompressed (gzip, deflate, br, zstd).
 * A large body counts until the answer begins or the connection closes, and gets 503 when the budget has no room. One
 * whose size is not known before it is read counts as it arrives.
 */
export function callBody({ limitBytes, budget, setBody, releaseBody }: CallBodyNeeds): RequestHandler {
  return (req, res, next) => {
    if (req.headers['content-type'] !== JSON_TYPE) return next()
    const declared = declaredSizeOf(req)
    if (Number(req.headers['content-length'] ?? 0) > limitBytes) return next(new ApiError('payload_too_large'))
    const counted = new CountedBody(budget, res)
    req.countedBody = counted
    const countAs = (size: number) => (counted.resize(size) ? null : new ApiError('service_unavailable', NO_ROOM))
    const noRoom = declared === null ? null : countAs(declared)
    if (noRoom) return next(noRoom)
    const judgeSize = (size: number) => {
      if (size > limitBytes) return new ApiError('payload_too_large')
      return declared === null ? countAs(size) : null
    }
    const decoder = openDecoder(req)
    if (decoder instanceof ApiError) return next(decoder)
    readBody(req, decoder, judgeSize, (bytes) => {
      if (bytes instanceof ApiError) return next(bytes)
      // Decoding would replace invalid bytes, and a backend that reads them differently would get another message.
      if (!isUtf8(bytes)) return next(new ApiError('invalid_request', { message: NOT_UTF8 }))
      try {
        setBody(req, bytes)
      } catch (error) {
        const message = error instanceof TooManyValues ? tooManyValues() : 'The body is not valid JSON.'
        return next(new ApiError('invalid_request', { message }))
      }
      const values = countValues(req.body, MAX_JSON_DEPTH)
      const refusal = judgeDepth(values) ?? countAs(Math.max(bytes.length, values * BYTES_PER_VALUE))
      if (refusal) releaseBody(req)
      next(refusal)
    })
  }
}

const NO_ROOM = { message: 'Too many large requests are running. Try again.', retryAfterSeconds: 1 }

/** The size of a body; null where it is unknown before the body is read. */
function declaredSizeOf({ headers }: Request): number | null {
  const { 'content-length': length, 'content-encoding': encoding } = headers
  return length === undefined || encoding !== undefined ? null : Number(length)
}

function tooManyValues(): string {
  return `The body has more than ${toCount(MAX_JSON_VALUES)} names and values. Send fewer.`
}

/**
 * The window of 8 MB that decoders of zstd should support (RFC 8878, section 3.1.1.1.2). A decoder needs memory for its
 * window, and the library allows 128 MB.
 */
const ZSTD_WINDOW_LOG = 23

/** The decoders of content encodings (RFC 9110, section 8.4.1). */
const DECODERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  ['zstd', () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } })],
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
  const chunks = new ByteChunks()

  function stop(read: Buffer | ApiError): void {
    // Without listeners, the chunks can be collected as garbage while the call runs.
    source.off('data', take).off('end', finish)
    req.off('close', refuse)
    decoder?.off('error', refuseEncoded)
    if (read instanceof ApiError) {
      // The stack of the refusal refers to `take`, and so to the chunks, for as long as the refusal lives.
      chunks.clear()
      if (decoder) {
        req.unpipe(decoder).resume()
        decoder.destroy()
      }
    }
    done(read)
  }
  function take(chunk: Buffer): void {
    chunks.add(chunk)
    const refusal = judgeSize(chunks.length)
    if (refusal) stop(refusal)
  }
  function finish(): void {
    stop(chunks.take())
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
