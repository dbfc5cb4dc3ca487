import type { Failure } from './failures/failure.ts'
import type { Json } from './json/read-json.ts'
import type { Usage } from './tokens/usage.ts'

/**
 * A call and its answer, independent of any dialect. These types are a superset of the three dialects: readers keep
 * everything, and each writer decides what its dialect can express. Readers do not join, move or rename anything.
 * Values that only pass through, such as JSON schemas, stay parsed JSON.
 */

/** A request. Where the client gave no value, lists are empty and other values null. */
export type NeutralRequest = {
  readonly stream: boolean
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly choice: ToolChoice | null
  readonly parallel: boolean | null
  readonly maxOutput: number | null
  readonly stop: readonly string[]
  readonly sampling: Sampling
  readonly reasoning: ReasoningOptions
  readonly format: OutputFormat | null
  readonly hints: Hints
}

/** A turn of the conversation. `path` is its place in the client's body, for refusals: `messages.3`. */
export type Turn = {
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly Part[]
  readonly path: string
}

/** A part of a turn. `path` is its place in the client's body. `mark`: the prompt is cached up to this part. */
export type Part = PartContent & { readonly path: string; readonly mark?: CacheMark }

/** The content of a part. */
export type PartContent =
  | TextPart
  | ImagePart
  | DocumentPart
  | { readonly type: 'audio'; readonly format: string; readonly base64: string }
  | ReasoningPart
  | { readonly type: 'refusal'; readonly text: string }
  | CallPart
  | ResultPart
  /** Tools that are available from this place on. */
  | { readonly type: 'toolsAdded'; readonly names: readonly string[] }

export type TextPart = { readonly type: 'text'; readonly text: string }
export type ImagePart = { readonly type: 'image'; readonly source: Source; readonly detail: string | null }
export type DocumentPart = {
  readonly type: 'document'
  readonly source: Source
  readonly name: string | null
  readonly title: string | null
  /** What the client says about the document. */
  readonly context: string | null
}

/** Where the data of a part comes from. `text`: a document that is plain text. */
export type Source =
  | { readonly kind: 'bytes'; readonly mediaType: string; readonly base64: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'text'; readonly text: string }

/** Reasoning. `seal` is null when it has no genuine seal of the backend that gets the request. */
export type ReasoningPart = { readonly type: 'reasoning'; readonly text: string; readonly seal: Seal | null }

/** A tool call. `input` is the original JSON text; for a custom tool it is the free text. */
export type CallPart = { readonly type: 'call'; readonly id: string; readonly tool: ToolRef; readonly input: string }
export type ResultPart = {
  readonly type: 'result'
  readonly callId: string
  readonly parts: readonly Part[]
  readonly failed: boolean
  /** The place of the call's id in the client's body. */
  readonly callPath: string
}

/**
 * Reasoning in the form that its backend accepts. `signed` and `redacted`: messages backends. `encrypted`: responses
 * backends. `plain`: chat backends that sign nothing. Chat backends that require data back with the next call use
 * `signed`. `before`: the id of the call that follows this reasoning.
 */
export type Seal = {
  readonly kind: 'signed' | 'redacted' | 'encrypted' | 'plain'
  readonly model: string
  readonly data: string
  readonly before: string | null
}

/** Marks the end of a prompt that the backend should cache. */
export type CacheMark = { readonly ttl: 'short' | 'long' }

/** Identifies a tool of the client. */
export type ToolRef = {
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly namespace: string | null
}

/** A tool of the client, or a tool that the backend runs (`hosted`). */
export type Tool = (ClientTool | HostedTool) & { readonly path: string; readonly mark?: CacheMark }

export type ClientTool = ToolRef & {
  readonly description: string | null
  /** The JSON schema of the arguments; null for a custom tool, and when the client gave none. */
  readonly schema: unknown
  readonly strict: boolean | null
  /** Not shown to the model until a `toolsAdded` part names it. */
  readonly deferred: boolean
  readonly grammar: Grammar | null
}

export type Grammar = { readonly syntax: string; readonly definition: string }

/** A tool that the backend runs. Only `webSearch` exists in every dialect; any other belongs to one vendor. */
export type HostedTool = {
  readonly kind: 'hosted'
  readonly type: string
  readonly name: string
  readonly webSearch: boolean
  /** The only domains to search; null allows all. */
  readonly domains: readonly string[] | null
  /** Domains not to search, which only messages backends know. */
  readonly blockedDomains: readonly string[]
  /** False: pages may come from the vendor's index only, which only responses backends can promise. */
  readonly isLive: boolean
  /** Where the user is, in the form that both dialects have; null when the client did not say so. */
  readonly location: Json | null
  /** It is the only tool of the request, so the request makes no sense without it. */
  readonly essential: boolean
}

/** Which tools the model may or must call. `only`: the allowed tools; null allows all. */
export type ToolChoice = {
  readonly mode: 'auto' | 'required' | 'none'
  readonly only: readonly ToolRef[] | null
}

export type Sampling = {
  readonly temperature: number | null
  readonly topP: number | null
  readonly topK: number | null
  /** The number of alternatives to report with the log probability of each token; null: no log probabilities. */
  readonly logprobs: { readonly top: number; readonly path: string } | null
}

/** How much a model reasons. */
export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/** What a request says of reasoning. */
export type ReasoningOptions = {
  /** An `Effort`, or another word of a vendor. */
  readonly effort: string | null
  /** The client's agent sends an effort with every call, for any model. It is left out where it may be refused. */
  readonly effortIsHint: boolean
  /** Whether the client wants to see the reasoning; null when it did not say so. */
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

/** Values that affect only cost, caching or style, and may be dropped. */
export type Hints = {
  readonly user: string | null
  readonly cacheKey: string | null
  readonly verbosity: string | null
}

/**
 * Why an answer ended. `length`, `context`, `filter` and `blocked` take precedence over `tools`, because a tool call
 * that was cut off must not be executed. `filter`: a filter ended the answer, and another answer may pass it.
 * `blocked`: the vendor refuses the conversation, so another answer to it would end in the same way. `refusal`: the
 * model refused in words of its own. `pause`: the backend paused a long turn and expects another request.
 */
export type Finish =
  'stop' | 'stopSequence' | 'length' | 'context' | 'tools' | 'filter' | 'blocked' | 'refusal' | 'pause'

/**
 * A part of an answer. The id of a tool call is unique within the answer. `search`: a web search that the backend ran;
 * its text is the query.
 */
export type OpenPart =
  | { readonly kind: 'reasoning' | 'text' | 'refusal' | 'search' }
  | { readonly kind: 'tool'; readonly id: string; readonly tool: ToolRef }

/** A page that a text refers to. `range`: the characters that refer to it; null for the whole text. */
export type Citation = WebPage & { readonly range: { readonly start: number; readonly end: number } | null }

/** A page on the web. */
export type WebPage = { readonly url: string; readonly title: string | null }

/** The seal of reasoning in an answer. */
export type AnswerSeal = Pick<Seal, 'kind' | 'data' | 'before'>

export type PartEvent = { readonly type: 'open'; readonly part: OpenPart } | DeltaEvent | CloseEvent

/** `logprobs`: the log probabilities of the tokens of this delta, in the form that both dialects have. */
export type DeltaEvent = {
  readonly type: 'delta'
  readonly part: OpenPart
  readonly text: string
  readonly logprobs?: readonly unknown[]
}
export type CloseEvent = { readonly type: 'close'; readonly part: OpenPart } & PartEnd

/** How a part of an answer ended. */
export type PartEnd = {
  /** The text of all deltas. */
  readonly text: string
  /** A limit or a filter ended the part. */
  readonly cut: boolean
  readonly seal: AnswerSeal | null
  /** The sources of a text. */
  readonly citations?: readonly Citation[]
  /** The log probabilities of all deltas. */
  readonly logprobs?: readonly unknown[]
  /** The pages that a search found. */
  readonly found?: readonly WebPage[]
}

export type FinishEvent = {
  readonly type: 'finish'
  readonly finish: Finish
  readonly stopSequence: string | null
  readonly usage: Usage | null
}
export type FailEvent = { readonly type: 'fail'; readonly failure: Failure; readonly usage: Usage | null }

/**
 * The events of an answer: one `start`; parts one after the other, each opened before its deltas and closed before the
 * next part; then one `finish` or `fail`. A `fail` may also be the first event.
 */
export type AnswerEvent = { readonly type: 'start' } | PartEvent | FinishEvent | FailEvent
