import type { Dialect } from './dialect.ts'
import type { Failure } from './failure.ts'

/**
 * A call and its answer, written in no dialect. This model is a superset of all three, so that a reader loses nothing
 * and each writer decides what its dialect can carry. Nothing is joined, moved or renamed before a writer. Values that
 * only pass through, such as JSON schemas, stay the parsed JSON that they were.
 */

/** A request. Lists are empty and values null where the client said nothing. */
export type NeutralRequest = {
  readonly stream: boolean
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly choice: ToolChoice | null
  readonly parallel: boolean | null
  readonly maxOutput: number | null
  readonly stop: readonly string[]
  readonly sampling: Sampling
  readonly reasoning: ReasoningWish
  readonly format: OutputFormat | null
  readonly hints: Hints
}

/** `path` leads to the turn in the client's body, for refusals: `messages.3`. */
export type Turn = {
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly Part[]
  readonly path: string
}

/** `path` leads to the part in the client's body; `mark` asks for a prompt cache up to here. */
export type Part = PartContent & { readonly path: string; readonly mark?: CacheMark }

export type PartContent =
  | TextPart
  | ImagePart
  | DocumentPart
  | { readonly type: 'audio'; readonly format: string; readonly base64: string }
  | ReasoningPart
  | { readonly type: 'refusal'; readonly text: string }
  | CallPart
  | ResultPart
  /** Tools that became available here. */
  | { readonly type: 'toolsAdded'; readonly names: readonly string[] }

export type TextPart = { readonly type: 'text'; readonly text: string }
export type ImagePart = { readonly type: 'image'; readonly source: Source; readonly detail: string | null }
export type DocumentPart = {
  readonly type: 'document'
  readonly source: Source
  readonly name: string | null
  readonly title: string | null
}

/** `text` is a document that is plain text. */
export type Source =
  | { readonly kind: 'bytes'; readonly mediaType: string; readonly base64: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'text'; readonly text: string }

/**
 * `seal` is null where the payload of the backend that wrote it is not known to be genuine, or is another backend's.
 */
export type ReasoningPart = { readonly type: 'reasoning'; readonly text: string; readonly seal: Seal | null }

/** `input` is JSON text as it was written; of a custom tool it is the free text. */
export type CallPart = { readonly type: 'call'; readonly id: string; readonly tool: ToolRef; readonly input: string }
export type ResultPart = {
  readonly type: 'result'
  readonly callId: string
  readonly parts: readonly Part[]
  readonly failed: boolean
  /** Leads to the member that names the call. */
  readonly callPath: string
}

/**
 * Reasoning in the form in which its backend wants it back. `signed` and `redacted` are of messages backends,
 * `encrypted` of responses backends, `plain` of chat backends, which sign nothing. `before`: the id of the call that
 * this reasoning precedes.
 */
export type Seal = {
  readonly kind: 'signed' | 'redacted' | 'encrypted' | 'plain'
  readonly model: string
  readonly data: string
  readonly before: string | null
}

export type CacheMark = { readonly ttl: 'short' | 'long' }

export type ToolRef = {
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly namespace: string | null
}

/** A tool of the client's own, or one that the backend runs (`hosted`). */
export type Tool = (ClientTool | HostedTool) & { readonly path: string; readonly mark?: CacheMark }

export type ClientTool = ToolRef & {
  readonly description: string | null
  /** The JSON schema of the arguments; null for a custom tool, and where the client gave none. */
  readonly schema: unknown
  readonly strict: boolean | null
  /** Not shown to the model until a `toolsAdded` part names it. */
  readonly deferred: boolean
  readonly grammar: Grammar | null
}

export type Grammar = { readonly syntax: string; readonly definition: string }

/** `webSearch`: what every dialect has, in its own words. Any other one has a meaning that only its vendor knows. */
export type HostedTool = {
  readonly kind: 'hosted'
  readonly type: string
  readonly name: string
  readonly dialect: Dialect
  readonly webSearch: boolean
  readonly domains: readonly string[] | null
  /** The request is about this tool, so that an answer without it is none. */
  readonly essential: boolean
}

/** `only`: the tools that may be called, all of them where null. */
export type ToolChoice = {
  readonly mode: 'auto' | 'required' | 'none'
  readonly only: readonly ToolRef[] | null
}

export type Sampling = {
  readonly temperature: number | null
  readonly topP: number | null
  readonly topK: number | null
}

export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

export type ReasoningWish = {
  /** A word from `Effort`, or one that only a vendor knows. */
  readonly effort: string | null
  /**
   * The client's agent sends an effort with every call, whatever the model: where it is not known to work, it is left
   * out.
   */
  readonly effortIsHint: boolean
  /** Whether the client wants to see the reasoning; null where it did not say. */
  readonly show: boolean | null
}

export type OutputFormat =
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema'
      readonly name: string | null
      readonly description: string | null
      readonly schema: unknown
      readonly strict: boolean | null
    }

/** What steers cost, caching or manner and may be dropped. */
export type Hints = {
  readonly user: string | null
  readonly cacheKey: string | null
  readonly verbosity: string | null
}

/**
 * Tokens of an answer. `input` includes `cached` and `written`; `output` includes `reasoning`. `writtenLong` is a part
 * of `written`.
 */
export type AnswerUsage = {
  readonly input: number
  readonly cached: number
  readonly written: number
  readonly writtenLong: number
  readonly output: number
  readonly reasoning: number
}

/**
 * Why an answer ended. A call that was cut off must not be carried out, so `length`, `context` and `filter` win over
 * `tools`. `pause`: the backend stopped in a long turn and wants to be asked again.
 */
export type Finish = 'stop' | 'stopSequence' | 'length' | 'context' | 'tools' | 'filter' | 'refusal' | 'pause'

/** What an answer is made of. A tool call has an id that no other call of this answer has. */
export type OpenPart =
  | { readonly kind: 'reasoning' | 'text' | 'refusal' }
  | { readonly kind: 'tool'; readonly id: string; readonly tool: ToolRef }

/** The payload of a backend's reasoning, as its answer gave it. */
export type AnswerSeal = Pick<Seal, 'kind' | 'data' | 'before'>

export type PartEvent =
  | { readonly type: 'open'; readonly part: OpenPart }
  | { readonly type: 'delta'; readonly part: OpenPart; readonly text: string }
  /** `text` is all that the deltas said; `cut`: a limit or a filter ended it. */
  | {
      readonly type: 'close'
      readonly part: OpenPart
      readonly text: string
      readonly cut: boolean
      readonly seal: AnswerSeal | null
    }

export type FinishEvent = {
  readonly type: 'finish'
  readonly finish: Finish
  readonly stopSequence: string | null
  readonly usage: AnswerUsage | null
}
export type FailEvent = { readonly type: 'fail'; readonly failure: Failure; readonly usage: AnswerUsage | null }

/**
 * An answer as it comes: `start` once, then parts one after the other, each opened before its deltas and closed before
 * the next one, then one `finish` or `fail`. A `fail` may also come first.
 */
export type AnswerEvent = { readonly type: 'start' } | PartEvent | FinishEvent | FailEvent
