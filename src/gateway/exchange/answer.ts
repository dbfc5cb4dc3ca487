/** Answers of a backend, and how they are written to the caller. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { ApiError } from '../../http/errors.ts'
import type { DialectTraits } from '../dialects/dialect.ts'
import { parseError, showsMessage } from '../dialects/failures/error-body.ts'
import { readErrorMembers, readFailure } from '../dialects/failures/failure.ts'
import type { Failure } from '../dialects/failures/failure.ts'
import { readRetryTime } from '../dialects/failures/retry-time.ts'
import type { Json } from '../dialects/json/read-json.ts'
import type { RefusedPart } from '../dialects/refused-parts.ts'
import type { SseEvent } from '../dialects/sse/decode.ts'
import { encodeEvents } from '../dialects/sse/encode.ts'
import { toCallerHeaders } from './headers.ts'

/** The head of a backend's answer; header names in lower case. */
export type AnswerHead = { readonly status: number; readonly headers: IncomingHttpHeaders }

/** Whether the body of an answer is compressed. */
export function isCompressed({ headers: { 'content-encoding': encoding = '' } }: AnswerHead): boolean {
  return encoding !== '' && encoding !== 'identity'
}

/** An answer that is not a stream. */
export type WholeAnswer = {
  readonly status: number
  readonly body: Buffer
  /** The content type, where it differs from the backend's. */
  readonly contentType?: string
  /** Of a rate limit: the seconds after which to repeat the call, as its message says; null where it does not. */
  readonly retryAfterSeconds?: number | null
}

/** Makes an answer of JSON, parsed or as bytes. */
export function toJsonAnswer({ status, body }: { readonly status: number; readonly body: Json | Buffer }): WholeAnswer {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
  return { status, body: bytes, contentType: 'application/json' }
}

/** Makes an answer that is a stream of which all events are known. */
export function toStreamAnswer(answer: { readonly status: number; readonly events: readonly SseEvent[] }): WholeAnswer {
  const { status, events } = answer
  return { status, body: encodeEvents(events), contentType: 'text/event-stream; charset=utf-8' }
}

/** Makes the answer for the failure of a backend, in the caller's dialect, with the status for such a failure. */
export function toFailureAnswer(
  { failureAnswer }: Pick<DialectTraits, 'failureAnswer'>,
  failure: Failure,
): WholeAnswer | ApiError {
  if (failure.kind === 'account') return new ApiError('upstream_refused_credential')
  return { ...toJsonAnswer(failureAnswer(failure)), ...retryTimeOf(failure) }
}

/**
 * Makes the answer that a backend of the caller's dialect has written. Its bytes and its headers stay. An error whose
 * message is in another place is written in the dialect, because the AI SDK shows only "Bad Request" otherwise. A rate
 * limit without `Retry-After` gets one, because Codex takes it for permanent otherwise.
 */
export function toUntouchedAnswer(
  head: AnswerHead,
  body: Buffer,
  { errorAnswer }: Pick<DialectTraits, 'errorAnswer'>,
): WholeAnswer {
  const { status } = head
  if (status < 400 || isCompressed(head)) return { status, body }
  const error = parseError(body)
  const isRateLimit = status === 429
  const failure = readFailure(error, isRateLimit ? status : null)
  const answer = showsMessage(body)
    ? { status, body }
    : toJsonAnswer(errorAnswer(status, failure, readErrorMembers(error)))
  return { ...answer, ...(isRateLimit && retryTimeOf(failure)) }
}

function retryTimeOf({ kind, message }: Failure): Pick<WholeAnswer, 'retryAfterSeconds'> {
  return kind === 'rateLimit' ? { retryAfterSeconds: readRetryTime(message) } : {}
}

/** A whole answer as the caller would get it. */
export type KeptAnswer = {
  readonly head: AnswerHead
  readonly answer: WholeAnswer
  readonly isTranslated: boolean
  /** The part of the request that the backend refuses, and without which it may be sent again; null: none. */
  readonly refusedPart: RefusedPart | null
}

/** An answer up to this size fits into the buffers of a connection, whether the caller reads it or not. */
const MAX_BUFFERED_BYTES = 16 * 1024

/** Writes the head of the caller's answer: what may cross of the backend's head, and `more`. */
export function writeHead(
  res: ServerResponse,
  { status, headers }: AnswerHead,
  more: OutgoingHttpHeaders,
  isTranslated: boolean,
): void {
  res.writeHead(status, { ...toCallerHeaders(headers, res, isTranslated), ...more })
}

/** The headers of a kept answer. A rate limit has `Retry-After`. A body of another type is not compressed. */
export function headersOf(kept: KeptAnswer): IncomingHttpHeaders {
  const { headers } = kept.head
  const { contentType, retryAfterSeconds } = kept.answer
  const all = retryAfterSeconds === undefined ? headers : { 'retry-after': String(retryAfterSeconds ?? 1), ...headers }
  if (contentType === undefined) return all
  const { 'content-encoding': _dropped, ...others } = all
  return { ...others, 'content-type': contentType }
}

/** The seconds of `Retry-After` of a kept answer, as its headers or its message say; null where they do not. */
export function knownRetryAfter({ head, answer }: KeptAnswer): number | null {
  const given = head.headers['retry-after']
  return given === undefined ? (answer.retryAfterSeconds ?? null) : Number(given)
}

/** Writes a whole answer. A caller that does not read it for the idle timeout is disconnected. */
export function writeWhole(res: ServerResponse, kept: KeptAnswer, idleTimeoutMs: number): void {
  const { status, body } = kept.answer
  const length = status === 204 || status === 304 ? {} : { 'content-length': body.length }
  writeHead(res, { status, headers: headersOf(kept) }, length, kept.isTranslated)
  if (body.length > MAX_BUFFERED_BYTES) {
    res.end(body)
    // Node closes the connection when the caller does not read for this long.
    res.setTimeout(idleTimeoutMs)
  } else {
    // Node sends the head and a string in one write, but the head and a buffer in two. Latin-1 keeps every byte.
    res.end(body.toString('latin1'), 'latin1')
  }
}
