import type { IncomingHttpHeaders } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import type { CountedBody } from '../../../http/body-budget.ts'
import type { Caller } from '../../../kernel/caller.ts'
import type { ServerSpan } from '../../../kernel/tracer.ts'
import type { LongTexts } from '../../dialects/json/long-texts.ts'
import { readObject } from '../../dialects/json/read-json.ts'
import type { Json } from '../../dialects/json/read-json.ts'
import type { BackendRequest } from '../../exchange/send.ts'
import { parseBody, parseExactBody } from './parse-body.ts'
import type { ExactBody, ParsedBody } from './parse-body.ts'

/**
 * What a call reads of Express's request. Bodies are large, so each form of one is dropped when it is not needed:
 * `setBody` sets `bytes`, `parsed` and `body`. `releaseParsed` drops what is parsed while the only backend works on its
 * answer, and `restoreBody` parses the bytes again when that backend refuses a part of the request. `releaseBody` drops
 * everything when an answer begins.
 */
export type CallRequest = {
  /** Parsed by `parseBody`: texts of the conversation may be inexact. */
  body: Json & { readonly model?: string; readonly stream?: boolean | null }
  parsed?: ParsedBody | undefined
  /** The body as the caller has sent it, decompressed, until the answer begins. */
  bytes?: Buffer | undefined
  /** What was prepared for a backend last, without the ids of a trace, until the answer begins. */
  sent?: BackendRequest | undefined
  /** Read when the first backend needs it. */
  exact?: ExactBody | undefined
  readonly id: string
  readonly ip: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly originalUrl: string
  readonly caller?: Caller
  /** Counts the memory of a large body. */
  readonly countedBody?: CountedBody
  /** Ends with the answer. Only where calls are traced. */
  span?: ServerSpan
}

/** Sets the body of a call from its bytes, which must be valid UTF-8. Throws when they are not JSON. */
export function setBody(req: CallRequest, bytes: Buffer): void {
  req.parsed = parseBody(bytes)
  req.bytes = bytes
  // It is checked against the contract next.
  req.body = req.parsed.value as Json
}

/** The body with the exact texts of the conversation and all digits of its numbers, which `req.body` may lack. */
export function exactBodyOf(req: CallRequest): { readonly body: Json; readonly texts: LongTexts } {
  req.exact ??= parseExactBody(parsedOf(req))
  return { body: readObject(req.exact.value), texts: req.exact.texts }
}

/** The body as it was parsed. Throws when it was released. */
export function parsedOf({ parsed }: CallRequest): ParsedBody {
  if (!parsed) throw new Error('The body of a model call was not kept.')
  return parsed
}

/**
 * Drops what is parsed of the body while a backend works on its answer, because it takes more memory than the bytes.
 */
export function releaseParsed(req: CallRequest): void {
  req.body = {}
  // Not by `delete`, after which each access to the request is slow.
  req.parsed = undefined
  req.exact = undefined
}

/** Parses the body again, where that was dropped. */
export function restoreBody(req: CallRequest): void {
  if (!req.parsed && req.bytes) setBody(req, req.bytes)
}

/** Whether the request is the same as the one that was sent to a backend last. */
export function wasSentLast({ sent }: CallRequest, request: BackendRequest): boolean {
  return isDeepStrictEqual(sent, request)
}

/** An answer may take minutes and thousands are open at once, so the request's body is not kept for that long. */
export function releaseBody(req: CallRequest): void {
  releaseParsed(req)
  req.bytes = undefined
  req.sent = undefined
}

/** Ours wins. The others are what the clients of the three dialects send by themselves; pi sends `session_id`. */
const SESSION_HEADERS = [
  'x-svc-session-id',
  'session-id',
  'session_id',
  'x-claude-code-session-id',
  'x-session-id',
] as const

/**
 * The run of an agent that a call belongs to, as its client names it; null when it names none, or not in 1 to 256
 * visible ASCII characters.
 */
export function sessionIdOf(headers: IncomingHttpHeaders): string | null {
  for (const name of SESSION_HEADERS) {
    const value = headers[name]
    if (typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value)) return value
  }
  return null
}
