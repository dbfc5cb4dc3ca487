import type { Dialect } from '../../kernel/dialect.ts'
import type { Effort } from './neutral.ts'

/** The capabilities of a model at a backend. An unknown model has the cautious values of `DEFAULT_CAPS`. */
export type ModelCaps = {
  /** Accepts system texts in the middle of a conversation. Otherwise they become marked text in the user's turn. */
  readonly midSystem: boolean
  /** Accepts `temperature` and `top_p`, in chat also `stop`. Many models that reason refuse these members. */
  readonly sampling: boolean
  readonly topK: boolean
  /** Continues a last turn of the assistant. */
  readonly prefill: boolean
  readonly thinking: 'adaptive' | 'budget' | 'none'
  /** The reasoning efforts that the model accepts, in ascending order. Empty: it cannot be told how much to reason. */
  readonly efforts: readonly Effort[]
  /**
   * Whether to send an effort that the client's agent adds to every call. Some engines refuse every effort for a model
   * that cannot reason.
   */
  readonly effortHints: boolean
  /** The token limit that is sent when the dialect requires one and the client gave none. */
  readonly maxOutput: number
  /** The name of the token limit in the chat dialect. */
  readonly limitName: 'max_tokens' | 'max_completion_tokens'
  readonly strictTools: boolean
  /**
   * Accepts all keywords in the schemas of tools, such as patterns and lengths. llama.cpp makes a grammar of the
   * schemas, and refuses those that it cannot express. Gemini and Moonshot know a part of JSON schema.
   */
  readonly schemaLimits: boolean
  /** Accepts a JSON schema for its answer in chat. Otherwise it is asked for JSON, with the schema in the prompt. */
  readonly formatSchemas: boolean
  readonly images: boolean
  readonly pdf: boolean
  readonly audio: boolean
  /** `explicit`: marks on parts. `automatic`: also a mark on the whole body, which the vendor places. */
  readonly cacheMarks: 'none' | 'explicit' | 'automatic'
  /** Supports tools that take free text. Otherwise they become functions with one text argument. */
  readonly customTools: boolean
  /** Whether a tool can be required by name. Otherwise it is the only tool that is offered. */
  readonly namedChoice: boolean
  /** Has a web search that the backend runs. */
  readonly hostedSearch: boolean
  /**
   * Whether earlier reasoning is sent back. `required`: a history without it is refused. `unreadable`: the backend
   * cannot read that of this conversation. Only an error says so, never the directory.
   */
  readonly reasoningReplay: 'required' | 'accepted' | 'refused' | 'unreadable'
  /**
   * Accepts calls in the history without a signature. Gemini refuses those that it has not written itself, and those
   * whose signature the client has lost.
   */
  readonly unsignedCalls: boolean
  /** Writes summaries of its reasoning. OpenAI refuses to do so for organizations that it has not verified. */
  readonly reasoningSummaries: boolean
  /** Has Mistral's rules for the ids of calls and the order of messages in chat. */
  readonly strictHistory: boolean
  /** Requires that the content of each message in chat is a text. Null and lists of texts are refused. */
  readonly strictContent: boolean
  /** Accepts hints that only some vendors know, such as `prompt_cache_key` and `verbosity`. */
  readonly vendorHints: boolean
  /** Accepts the client's name of its user. */
  readonly userHint: boolean
  /** Accepts `stream_options.include_usage` in chat streams. Some servers refuse it. */
  readonly streamUsage: boolean
  /** Supports a setting that drops reasoning which no longer matches its prompt, instead of refusing the request. */
  readonly blockBinding: boolean
  /** Accepts the betas that a client names in `anthropic-beta`. Bedrock refuses a call with an unknown one. */
  readonly betas: boolean
}

/** Capabilities by default in all dialects. */
const COMMON = {
  topK: false,
  thinking: 'none',
  maxOutput: 32_000,
  schemaLimits: true,
  formatSchemas: true,
  images: true,
  audio: false,
  hostedSearch: false,
  unsignedCalls: true,
  reasoningSummaries: true,
  strictHistory: false,
  strictContent: false,
  userHint: true,
  streamUsage: true,
  blockBinding: false,
  betas: true,
} satisfies Partial<ModelCaps>

/** Capabilities that every server of a dialect has; for chat also Ollama, llama.cpp, vLLM and LM Studio. */
export const DEFAULT_CAPS: Readonly<Record<Dialect, ModelCaps>> = {
  chat: {
    ...COMMON,
    midSystem: false,
    sampling: true,
    prefill: true,
    efforts: ['none', 'low', 'medium', 'high'],
    effortHints: false,
    limitName: 'max_tokens',
    strictTools: false,
    pdf: false,
    cacheMarks: 'none',
    customTools: false,
    namedChoice: false,
    reasoningReplay: 'refused',
    vendorHints: false,
  },
  responses: {
    ...COMMON,
    midSystem: true,
    sampling: true,
    prefill: true,
    efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
    effortHints: true,
    limitName: 'max_completion_tokens',
    strictTools: true,
    pdf: true,
    cacheMarks: 'none',
    customTools: true,
    namedChoice: true,
    reasoningReplay: 'accepted',
    vendorHints: true,
  },
  messages: {
    ...COMMON,
    midSystem: false,
    sampling: false,
    prefill: false,
    efforts: ['low', 'medium', 'high'],
    effortHints: false,
    limitName: 'max_tokens',
    strictTools: false,
    pdf: true,
    cacheMarks: 'explicit',
    customTools: false,
    namedChoice: true,
    reasoningReplay: 'accepted',
    vendorHints: false,
  },
}

const EFFORT_ORDER: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/**
 * Returns the effort that a model accepts for the requested one: the same, else the next lower one, else its lowest. A
 * word that no dialect has is returned unchanged. Null when the model accepts none.
 */
export function nearestEffort(asked: string, known: readonly Effort[]): string | null {
  if (known.length === 0) return null
  // `minimal` still requests reasoning, so it must not become `none`.
  if (asked === 'minimal' && !known.includes('minimal')) return known.find((effort) => effort !== 'none') ?? asked
  const place = EFFORT_ORDER.indexOf(asked)
  if (place === -1 || (known as readonly string[]).includes(asked)) return asked
  return known.findLast((effort) => EFFORT_ORDER.indexOf(effort) < place) ?? known[0] ?? asked
}
