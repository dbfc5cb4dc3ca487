import type { ModelCaps } from './caps.ts'
import type { Failure } from './failures/failure.ts'
import type { Json } from './json/read-json.ts'
import type { Refusal } from './refusal.ts'
import type { RefusedPart } from './refused-parts.ts'
import type { SseEvent } from './sse/decode.ts'

export type { Dialect } from '../../kernel/dialect.ts'

/** Makes an identifier with this prefix that no other answer has: `newId('msg_')`. */
export type NewId = (prefix: string) => string

/** What differs between dialects, without their translation. `DIALECTS` has a row for each dialect. */
export type DialectTraits = {
  /** The path of calls in this dialect, behind the path of a backend's API. */
  readonly path: string
  /** The members of a request that limit the tokens of its answer. */
  readonly tokenLimits: readonly string[]
  /** The members of a request that ask for several answers at once. */
  readonly answerCounts: readonly string[]
  /** Watches a stream that passes unchanged. `untilClosed`: the stream has no other end than its closed connection. */
  readonly monitorStream: (options: { readonly untilClosed: boolean }) => StreamMonitor
  /**
   * Whether a stream that failed ends regularly behind its failure event. Otherwise its connection is broken, because
   * some clients take every regular end for success.
   */
  readonly failureEndsStream: boolean
  /**
   * Passes a stream of a backend that supports this dialect. It renames the model, and an incomplete stream ends with a
   * failure.
   */
  readonly passStream: (options: PassOptions) => StreamTranslator
  /** How a stream is made to report its usage; null: streams of this dialect always report it. */
  readonly streamUsage: StreamUsage | null
  /** The text that keeps a silent stream alive, between events. `hasBegun`: the client has received an event. */
  readonly keepAlive: (hasBegun: boolean) => string
  /**
   * Writes a backend's error for clients of this dialect. The status is the backend's, or 400 where the client can
   * correct its request. `own`: the other members of the backend's error, which are kept unless clients of the dialect
   * decide by them.
   */
  readonly errorAnswer: (status: number, failure: Failure, own?: Json) => ErrorAnswer
  /** Writes the failure of a backend of another dialect. Status and body come from `FAILURES`. */
  readonly failureAnswer: (failure: Failure) => ErrorAnswer
  /** Whether an error body has the shape of this dialect. */
  readonly isErrorBody: (body: unknown) => boolean
  /**
   * The failure that an event of a backend's stream reports; null when it reports none. Asked for the first event,
   * where vendors report errors after a status of 200.
   */
  readonly readErrorEvent: (event: SseEvent) => Failure | null
  /** Whether an event of a backend's stream comes before the answer, so that an error may still follow at once. */
  readonly isPreamble: (event: SseEvent) => boolean
  /** The request that finds out whether an engine supports this dialect; null for chat, which every engine supports. */
  readonly nativeProbe: NativeProbe | null
  /** Why no backend may get the request, also one of this dialect; null: it may be sent. */
  readonly judgeRequest: (body: Json) => Refusal | null
  /** Whether a request refers to state that only the server of an earlier answer has. */
  readonly needsStoredState: (body: Json) => boolean
  /** Whether a request has parts that the dialect's vendor alone understands. They can be translated. */
  readonly needsVendor: (body: Json) => boolean
  /** How tokens are counted for clients of another dialect; null: a backend of this dialect is not asked. */
  readonly tokenCount: TokenCount | null
  /** The parts of a request that its backend may refuse, and that it can be sent without. */
  readonly refusedParts: readonly RefusedPart[]
  /**
   * Removes what a vendor would refuse from the bytes of a request, because it has not signed it
   * (`unsigned-content.ts`). `body` is the request. Returns the same bytes where there is nothing to remove.
   */
  readonly withoutUnsignedContent: (request: Buffer, body: Json) => Buffer
  /** Changes what a model would refuse in the bytes of a request. `body` is the request. */
  readonly toAcceptedRequest: (request: Buffer, body: Json, caps: Partial<ModelCaps>) => Buffer
  /** Reads the metadata of a whole answer, or of one event of a stream. */
  readonly readMetadata: (answer: Json) => WrittenMetadata
}

/** Counts the tokens of a request without answering it. The answer has them as `input_tokens`. */
export type TokenCount = {
  /** The path behind that of a backend's API. */
  readonly path: string
  /** The members of a request that are counted. Vendors refuse other ones, such as limits of the answer. */
  readonly members: readonly string[]
}

/** The model, the finish reasons and the service tier of an answer, not checked yet. */
export type WrittenMetadata = {
  readonly model: unknown
  readonly finishReasons: readonly unknown[]
  readonly serviceTier: unknown
}

/** `hidesUsage`: the caller did not ask for the event that only reports usage. */
export type PassOptions = { readonly model: string; readonly hidesUsage?: boolean }

export type StreamUsage = {
  /** The members that ask for the usage, with their new values; null: the request asks for it already. */
  readonly ask: (body: Json) => Json | null
  /** Removes the event that only reports usage, for a caller that did not ask for it. */
  readonly makeFilter: () => StreamFilter
}

/** Removes events from a stream whose other bytes pass unchanged. */
export type StreamFilter = {
  /** Returns the bytes that may pass now. The start of an event is held back until its end is there. */
  push(chunk: Buffer): Buffer
  /** Returns the bytes that are still held back, when the backend has ended its answer. */
  end(): Buffer
}

/**
 * Why this side ends a stream. `code` and `type` are those of the service's error table. A translated stream has those
 * of the kind of failure.
 */
export type StreamFailure = Failure & { readonly code: string; readonly type: string }

/** Watches a stream whose bytes pass unchanged. */
export type StreamMonitor = {
  /** Receives the bytes that are sent to the client. */
  see(chunk: Buffer): void
  /** Whether the last event of a complete stream has passed. Always true when the transport marks the end itself. */
  hasEnded(): boolean
  /**
   * Whether the last event of a complete stream has passed, so that the client needs nothing more. False where that
   * cannot be seen.
   */
  isComplete(): boolean
  /**
   * Whether the last event, at the end of the stream, is one by which the backend reports a failure. False where that
   * cannot be seen.
   */
  hasFailed(): boolean
  /** The event that reports a failure to the client. Null in the middle of an event, where it could not be read. */
  failure(failure: StreamFailure): string | null
}

/**
 * `finishing`: the backend has said why its answer ends, and only its usage may follow. `ended`: the client has got the
 * whole answer. `failed`: the client has got a failure.
 */
export type StreamState = 'open' | 'finishing' | 'ended' | 'failed'

/** Changes a stream event by event. It returns nothing after its last event, even when more events are pushed. */
export type StreamTranslator = {
  push(event: SseEvent): SseEvent[]
  /** Called when the backend has ended its answer; returns the remaining events. */
  end(): SseEvent[]
  /** Ends the stream with a failure of its dialect: the backend broke off or was silent, or access was revoked. */
  fail(failure: Failure): SseEvent[]
  state(): StreamState
}

/** An error answer in a dialect. */
export type ErrorAnswer = { readonly status: number; readonly body: Json }

/** A request for a few tokens that finds out whether an engine supports a dialect. */
export type NativeProbe = {
  /** The body without `model`. */
  readonly body: Json
  /** Members that make the request impossible. An engine that answers it nevertheless ignores these members. */
  readonly impossible: Json
  /** Whether a body is an answer of the dialect. The status is not used: some servers answer 200 on every path. */
  readonly isAnswer: (text: string) => boolean
  /**
   * What follows when an engine ignores `impossible`. `foreign`: it does not support the dialect, so calls are
   * translated. `stateless`: it supports the dialect without stored state.
   */
  readonly ifIgnored: 'foreign' | 'stateless'
}
