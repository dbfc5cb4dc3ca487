import type { ModelCaps } from './caps.ts'
import type { NewId } from './dialect.ts'
import type { Failure } from './failure.ts'
import type { Json } from './json/read-json.ts'
import type { AnswerEvent, AnswerSeal, NeutralRequest, Seal, Tool } from './neutral.ts'
import type { SseEvent } from './sse/decode.ts'

/**
 * What a translation needs besides the call. Ids and the time are passed in, so that the same call gives the same
 * answer.
 */
export type TranslationContext = {
  /** The service's model id, which the answer names. */
  readonly model: string
  /** The name by which the backend knows the model. */
  readonly backendModel: string
  readonly newId: NewId
  /** Seconds since 1970. */
  readonly createdAt: number
  /** What the model can be asked; without it, the cautious values of the backend's dialect. */
  readonly caps?: ModelCaps
  /**
   * Carries reasoning through clients that know nothing of the backend; without it, reasoning is shown and never sent
   * back.
   */
  readonly seals?: Seals
}

/**
 * Packs a backend's reasoning into the one opaque field that a client gives back, and opens what a client gave back.
 */
export type Seals = {
  write(seal: AnswerSeal, text: string): string
  /** Null for what is no seal of this backend, this team and this text. */
  read(sealed: string, text: string): Seal | null
}

/** The context of one translation, every value there. */
export type Hub = Required<Omit<TranslationContext, 'seals'>> & { readonly seals: Seals | null }

/** How a client's dialect is read, and how its answer is written. */
export type ClientDialect = {
  /** Throws a refusal for what has no meaning outside of its vendor. */
  readonly readRequest: (body: Json, hub: Hub) => ClientCall
}

export type ClientCall = {
  readonly request: NeutralRequest
  /** The dialect has the arguments of calls as objects and not as text. */
  readonly argumentsAreObjects: boolean
  /** A writer for one answer. `withheld`: tools that the backend has not got. */
  readonly makeAnswerWriter: (withheld: readonly Tool[]) => AnswerWriter
}

export type AnswerWriter = {
  /** The events of the client's stream for an event of the answer. */
  write(event: AnswerEvent): SseEvent[]
  /** The body for a whole answer, whose last event is a `finish`. */
  whole(events: readonly AnswerEvent[]): Json
}

/** How a backend's dialect is written, and how its answer is read. */
export type BackendDialect = {
  /** Throws a refusal for what the model cannot be asked, by the path of the client's body. */
  readonly writeRequest: (request: NeutralRequest, hub: Hub) => BackendCall
}

export type BackendCall = {
  readonly body: Json
  /** Headers that the dialect demands of a call. */
  readonly headers: Readonly<Record<string, string>>
  /** Stop sequences that this side has to enforce, because the backend knows none. */
  readonly stops: readonly string[]
  readonly withheld: readonly Tool[]
  /** A reader for one answer. */
  readonly makeAnswerReader: () => AnswerReader
}

/** Turns a backend's answer into neutral events. Nothing follows a `finish` or a `fail`. */
export type AnswerReader = {
  push(event: SseEvent): AnswerEvent[]
  /** All events of a whole answer, given as parsed JSON. */
  whole(body: unknown): AnswerEvent[]
  /** The stream has ended. */
  end(): AnswerEvent[]
  fail(failure: Failure): AnswerEvent[]
}
