import type { Json } from './json/read-json.ts'
import type { Failure } from './failure.ts'
import type { SseEvent } from './sse/decode.ts'

export type { Dialect } from '../../kernel/dialect.ts'

/** A new identifier with this prefix, unique among all answers: `newId('msg_')`. */
export type NewId = (prefix: string) => string

/** Everything that differs from one dialect to the next and is not translation; `DIALECTS` has one row for each. */
export type DialectTraits = {
  /** Where calls in this dialect go, behind the prefix of a backend. */
  readonly path: string
  /** The members of a request that limit the tokens of its answer. */
  readonly tokenLimits: readonly string[]
  /** Watches a stream that passes untouched. `untilClosed`: only a closed connection tells that the stream is over. */
  readonly monitorStream: (options: { readonly untilClosed: boolean }) => StreamMonitor
  /**
   * A stream of a backend that speaks this dialect, with the model renamed and an end that never looks complete when it
   * is not.
   */
  readonly passStream: (options: { readonly model: string }) => StreamTranslator
  /** What keeps a silent stream alive, as bytes of the stream; `begun`: the client has got an event. */
  readonly keepAlive: (begun: boolean) => string
  /**
   * A backend's error as clients of this dialect read it. The status is the backend's, or 400 where the client can cure
   * it.
   */
  readonly errorAnswer: (status: number, failure: Failure) => ErrorAnswer
  /** A failure of a backend that speaks another dialect: its status and body come from one table. */
  readonly failureAnswer: (failure: Failure) => ErrorAnswer
  /** Whether this body of an error answer has the shape that clients of this dialect read. */
  readonly isErrorBody: (body: unknown) => boolean
  /** Finds out whether an engine speaks this dialect itself; null for chat, which every engine speaks. */
  readonly nativeProbe: NativeProbe | null
  /** Whether a request refers to what only the server that answered before can know. */
  readonly needsStoredState: (body: Json) => boolean
  /**
   * Whether a request holds reasoning that no vendor signed, which vendors refuse: of a local model, or sealed by this
   * service.
   */
  readonly hasLocalReasoning: (body: Json) => boolean
  /** The request without that reasoning; the same bytes where there is none. */
  readonly withoutLocalReasoning: (bytes: Buffer) => Buffer
}

/** Why this side ends a stream, in the words of the service's error table. */
export type StreamFailure = { readonly code: string; readonly type: string; readonly message: string }

export type StreamMonitor = {
  /** Sees bytes that have gone to the client. */
  see(chunk: Buffer): void
  /** Whether the event that ends such a stream well has passed. Only looked for where the transport cannot tell. */
  hasEnded(): boolean
  /**
   * The event that tells the client of a failure; null in the middle of an event, where nothing can be added that a
   * client would understand. The connection must break all the same: some clients of chat streams take every clean end
   * for success.
   */
  failure(failure: StreamFailure): string | null
}

/** `ended`: the client has all of the answer; `failed`: it has been told that there is no more. */
export type StreamState = 'open' | 'ended' | 'failed'

/** Changes a stream event by event. Nothing follows its last event, even when more is pushed. */
export type StreamTranslator = {
  push(event: SseEvent): SseEvent[]
  /** The backend has ended its answer; returns what is left. */
  end(): SseEvent[]
  /** Ends the stream as its dialect ends a failure: the backend broke off or was silent, or access was revoked. */
  fail(message: string): SseEvent[]
  state(): StreamState
}

export type ErrorAnswer = { readonly status: number; readonly body: Json }

/** A request that costs a few tokens, sent once to find out whether an engine speaks a dialect. */
export type NativeProbe = {
  readonly path: string
  /** Without `model`. */
  readonly body: Json
  /** Members that no engine can comply with: one that answers all the same ignores them, here and in every call. */
  readonly impossible: Json
  /**
   * Whether this text is an answer of the dialect. The status does not count: some servers answer 200 to every path.
   */
  readonly isAnswer: (text: string) => boolean
  /**
   * What an engine that ignores `impossible` is: `foreign`, so calls are translated; `stateless`, so only stored state
   * is missing.
   */
  readonly ignoring: 'foreign' | 'stateless'
}
