import type { ModelCaps } from './caps.ts'
import type { NewId } from './dialect.ts'
import type { Failure } from './failures/failure.ts'
import type { Json } from './json/read-json.ts'
import type { AnswerEvent, AnswerSeal, NeutralRequest, Seal, Tool } from './neutral.ts'
import type { SseEvent } from './sse/decode.ts'

/**
 * What a translation needs besides the call. Ids and the time are passed in, so that the same call always gives the
 * same result.
 */
export type TranslationOptions = {
  /** The service's model id, which is the model in the answer. */
  readonly model: string
  /** The model's name at the backend. */
  readonly backendModel: string
  readonly newId: NewId
  /** Seconds since 1970. */
  readonly createdAt: number
  /** The capabilities of the model. What is left out has the cautious value of the backend's dialect. */
  readonly caps: Partial<ModelCaps>
  /**
   * The client is Codex. It shows no part of type `refusal`, and after a stream that broke off it repeats the call with
   * the parts that it has got.
   */
  readonly isCodex: boolean
  /** The run of an agent that the call belongs to, as its client names it; null when it names none. */
  readonly sessionId: string | null
  /** Seals reasoning so that clients can send it back. Null: reasoning is shown and never sent back. */
  readonly seals: Seals | null
}

/** Packs a backend's reasoning into one opaque text that clients send back unchanged, and unpacks it. */
export type Seals = {
  write(seal: AnswerSeal, text: string): string
  /** Unpacks a seal. Null when it is not a genuine seal of this backend, this team and this text. */
  read(sealed: string, text: string): Seal | null
  /** Whether more was read than one request may have. The rest of it was not unpacked. */
  areTooLarge(): boolean
}

/** What a translation needs besides the call, with all capabilities. */
export type TranslationContext = TranslationOptions & { readonly caps: ModelCaps }

/** A dialect, as the dialect of a client and as that of a backend. */
export type TranslatedDialect = {
  /** The member of a request that has the conversation. */
  readonly conversation: string
  /** Reads a client's request. Throws a refusal for a member that only its vendor can handle. */
  readonly readRequest: (body: Json, context: TranslationContext) => ClientCall
  /**
   * Writes a request for a backend. Throws a refusal for what the model does not support. The refusal has the path in
   * the client's body.
   */
  readonly writeRequest: (request: NeutralRequest, context: TranslationContext) => BackendCall
}

/** A client's call: its request, and what is needed to write its answer. */
export type ClientCall = {
  readonly request: NeutralRequest
  /** The dialect writes the arguments of tool calls as objects, not as text. */
  readonly argumentsAreObjects: boolean
  /** The answer is a summary of the conversation: a text and nothing else. */
  readonly isSummary?: boolean
  /** Makes a writer for one answer. `withheld`: tools of the client that the backend was not offered. */
  readonly makeAnswerWriter: (withheld: readonly Tool[]) => AnswerWriter
}

/** Writes one answer in the client's dialect. */
export type AnswerWriter = {
  /** The events of the client's stream for an event of the answer. */
  write(event: AnswerEvent): SseEvent[]
  /** The body for a whole answer, whose last event is a `finish`. */
  whole(events: readonly AnswerEvent[]): Json
}

/** A request for a backend, and the reader of its answer. */
export type BackendCall = {
  readonly body: Json
  /** Headers that the dialect requires. */
  readonly headers: Readonly<Record<string, string>>
  /** Stop sequences that this gateway applies, because the backend does not take them. */
  readonly stops: readonly string[]
  readonly withheld: readonly Tool[]
  readonly reader: AnswerReader
}

/** Reads one answer of a backend as neutral events. What follows a `finish` or a `fail` is ignored. */
export type AnswerReader = {
  push(event: SseEvent): AnswerEvent[]
  /** All events of a whole answer, given as parsed JSON. */
  whole(body: unknown): AnswerEvent[]
  /** The stream has ended. */
  end(): AnswerEvent[]
  fail(failure: Failure): AnswerEvent[]
  /** Whether the backend has said why its answer ends, and only its usage may follow. */
  isFinishing?(): boolean
}
