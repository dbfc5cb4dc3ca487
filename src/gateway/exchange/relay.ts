/**
 * What an exchange and its relay know of each other. An exchange has one relay, chosen by the head of the backend's
 * answer.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ApiError } from '../../http/errors.ts'
import type { StreamFailure } from '../dialects/dialect.ts'
import type { StreamRewriter } from '../dialects/sse/rewrite.ts'
import { toCallerHeaders } from './headers.ts'
import type { HeaderOptions } from './headers.ts'
import type { Outcome } from './outcome.ts'

/** Changes an answer on its way to the caller. */
export type AnswerRewrite = HeaderOptions & {
  /** A rewriter for one stream. */
  stream(): StreamRewriter
  /** The answer that the caller gets for this one. An `ApiError`: it is no answer that can be handed on. */
  whole(answer: WholeAnswer): WholeAnswer | ApiError
}

export type WholeAnswer = {
  readonly status: number
  readonly body: Buffer
  /** Where it is not the backend's. */
  readonly contentType?: string
  /** Headers where the backend sent none. */
  readonly defaults?: Readonly<Record<string, string>>
}

/** The head of a backend's answer; header names in lower case. */
export type AnswerHead = { readonly status: number; readonly headers: IncomingHttpHeaders }

/** Hands the body of one answer on to the caller. */
export type Relay = {
  /** Takes bytes of the answer, and may throw: the exchange then fails. */
  take(chunk: Buffer): void
  /** The backend has ended its answer. */
  end(): void
  /** Whether the caller has the whole answer, although the backend has not ended it yet. */
  isComplete(): boolean
  /**
   * Tells the caller of the failure where the answer is a stream, and breaks the connection. Only after the head has
   * left.
   */
  cut(kind: 'cut' | 'ended', failure: StreamFailure, reason: string): void
  /** The exchange is over: frees what the relay holds. */
  stop(): void
}

/** An exchange, as its relay sees it. */
export type RelayedExchange = {
  readonly res: ServerResponse
  readonly idleTimeoutMs: number
  readonly isOver: boolean
  /** Back-pressure on the backend. */
  pause(): void
  resume(): void
  /** Settles the outcome; the relay has written everything that it wants to. */
  finish(kind: Outcome['kind'], reason: string | null, refusal?: ApiError): void
  /** Closes the request to the backend. */
  abort(): void
}

export const BACKEND_BROKE_OFF: StreamFailure = {
  code: 'upstream_failed',
  type: 'api_error',
  message: 'The upstream broke off in the middle of its answer.',
}
export const BACKEND_WAS_SILENT: StreamFailure = {
  code: 'upstream_timeout',
  type: 'api_error',
  message: 'The upstream fell silent in the middle of its answer.',
}

/** Writes the head of the caller's answer: what may cross of the backend's head, and `more`. */
export function writeHead(
  res: ServerResponse,
  { status, headers }: AnswerHead,
  more: OutgoingHttpHeaders,
  rewrite: HeaderOptions | null,
): void {
  res.writeHead(status, { ...toCallerHeaders(headers, res, rewrite ?? undefined), ...more })
}

/**
 * Lets what was written arrive, then closes the connection without the end that HTTP asks for: a clean end would read
 * as success.
 */
export function breakConnection(res: ServerResponse): void {
  if (res.socket) res.socket.destroySoon()
  else res.destroy()
}

/**
 * An answer that has to be rewritten and cannot be. Thrown into undici, which aborts the request and reports it as an
 * error.
 */
export class UnreadableAnswer extends Error {
  readonly code: 'compressed' | 'too_large'

  constructor(code: 'compressed' | 'too_large') {
    super(`The answer cannot be rewritten: ${code}.`)
    this.code = code
  }
}
