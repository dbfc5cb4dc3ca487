/**
 * The types between an exchange and its relay. An exchange has one relay, which is chosen by the head of the backend's
 * answer.
 */
import type { ServerResponse } from 'node:http'
import type { BodyBudget } from '../../http/body-budget.ts'
import type { ApiError, ErrorCode } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { DialectTraits, StreamFailure, StreamFilter, StreamState, StreamTranslator } from '../dialects/dialect.ts'
import type { KeptAnswer, WholeAnswer } from './answer.ts'
import type { Credential } from './headers.ts'
import type { RelayEnd } from './outcome.ts'
import type { NoAnswer } from './send.ts'
import type { StreamKeepAlive } from './stream-keep-alive.ts'

/** Changes an answer on its way to the caller. */
export type AnswerRewrite = {
  /** Makes the translator of one stream. */
  stream(): StreamTranslator
  /** The answer for the caller. An `ApiError` when the backend's answer cannot be relayed. */
  whole(answer: WholeAnswer): WholeAnswer | ApiError
  /** Makes one answer of a stream, for a caller that asked for no stream. Null: such a stream is an error. */
  readonly collect: (() => StreamCollector) | null
}

/** Makes the answer for the caller of the bytes of one stream. */
export type StreamCollector = {
  /** Returns whether the bytes have completed an event. */
  push(chunk: Buffer): boolean
  state(): StreamState
  end(status: number): WholeAnswer | ApiError
}

/** How the answer of a backend is relayed. */
export type ExchangeOptions = {
  /** The caller's dialect, in which a failure of a stream is reported. */
  readonly dialect: Pick<
    DialectTraits,
    'monitorStream' | 'failureEndsStream' | 'failureAnswer' | 'errorAnswer' | 'keepAlive'
  >
  /** The backend's dialect, in which its errors are written; a stream may begin with one. */
  readonly backendDialect: Pick<DialectTraits, 'readErrorEvent' | 'isPreamble' | 'refusedParts'>
  /** The backend is called in another dialect than the caller's. */
  readonly isTranslated: boolean
  /** Whether the caller asked for a stream. An answer of an unknown content type is then relayed as a stream. */
  readonly wantsStream: boolean
  /** Changes the answer. Null: its bytes pass unchanged. */
  readonly rewrite: AnswerRewrite | null
  /** The service's own credential at the backend, which no error shows. */
  readonly credential: Credential | null
  /**
   * Whether every error is kept for the outcome instead of being sent, because another backend may do better. One that
   * refuses a part of the request always is, because the backend may answer a request without that part.
   */
  readonly keepsErrors: boolean
  /** The error code for the caller when the backend gives no answer. */
  readonly failureCodes: Readonly<Record<NoAnswer, ErrorCode>>
  /**
   * Called with the backend's status when the answer to the caller begins. Nothing of the request is needed any more.
   */
  readonly onAnswer: (status: number) => void
  /** Removes events of a stream that is not rewritten. Null: all of them pass. */
  readonly filter: StreamFilter | null
  /** Keeps rewritten streams alive while the backend is silent. */
  readonly keepAlive: StreamKeepAlive
  /** Receives the bytes of the answer as the backend sent them. */
  readonly observer: { push(chunk: Buffer): void }
  /** Counts what is held of all answers, until their callers have them. */
  readonly budget: BodyBudget
  readonly clock: Clock
}

/** Relays the body of one answer to the caller. */
export type Relay = {
  /** Takes bytes of the answer. When it throws, the exchange fails. */
  take(chunk: Buffer): void
  /** The backend has ended its answer. */
  end(): void
  /** Whether the answer is complete, although the backend has not ended it yet. A stream has been handed on by then. */
  isComplete(): boolean
  /** The bytes of the answer that are in memory until its end. */
  heldBytes(): number
  /** Writes the failure to a stream and ends it. Call it only after the head has been sent. */
  cut(kind: 'cut' | 'ended', failure: StreamFailure, reason: string): void
  /** Releases timers and buffers. Called when the exchange is over. */
  stop(): void
}

/** The part of an exchange that its relay uses. */
export type RelayedExchange = {
  readonly res: ServerResponse
  readonly idleTimeoutMs: number
  readonly isOver: boolean
  /** Applies backpressure to the backend. */
  pause(): void
  resume(): void
  /** Called with the backend's status before the head of the answer is written to the caller. */
  beginAnswer(status: number): void
  /** Replaces the relay of the rest of the answer. */
  relayWith(relay: Relay): void
  /** Settles the outcome with an error answer that is not sent. */
  keep(kept: KeptAnswer): void
  /** Settles the outcome with an error instead of the answer. */
  refuse(refusal: ApiError): void
  /** Settles the outcome. The relay calls it after its last write. */
  finish(kind: RelayEnd, reason: string | null): void
  /** Closes the request to the backend. */
  abort(): void
}
