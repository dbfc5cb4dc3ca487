import type { Dialect } from './dialect.ts'
import type { Effort } from './neutral.ts'

/**
 * What a model of a backend can be asked. A model that nothing is known of has the cautious values of `DEFAULT_CAPS`.
 */
export type ModelCaps = {
  /** System texts in the middle of a conversation. Where they are refused they go into the user's turn, marked. */
  readonly midSystem: boolean
  /** `temperature` and `top_p`; models that reason often refuse their presence. */
  readonly sampling: boolean
  readonly topK: boolean
  /** A last turn of the assistant that the model goes on with. */
  readonly prefill: boolean
  readonly thinking: 'adaptive' | 'budget' | 'none'
  /** The efforts that the model knows, from the least; any other goes to the nearest lower one, or to the first. */
  readonly efforts: readonly Effort[]
  /**
   * Whether an effort is sent that a client's agent sends with every call. Some engines refuse any for models that
   * cannot reason.
   */
  readonly effortHints: boolean
  /** The most tokens an answer may have; sent where the dialect demands a limit and the client gave none. */
  readonly maxOutput: number
  /** The chat dialect's word for that limit. */
  readonly limitName: 'max_tokens' | 'max_completion_tokens'
  readonly strictTools: boolean
  readonly images: boolean
  readonly pdf: boolean
  readonly audio: boolean
  /** `explicit`: marks on parts; `automatic`: also one at the top of the body, which the vendor places itself. */
  readonly cacheMarks: 'none' | 'explicit' | 'automatic'
  /** Tools that take free text. Elsewhere they are functions of one text. */
  readonly customTools: boolean
  /** Whether a tool can be demanded by name. Elsewhere it becomes the only one that is offered. */
  readonly namedChoice: boolean
  readonly hostedSearch: boolean
  /** `required`: history without reasoning is refused. */
  readonly reasoningReplay: 'required' | 'accepted' | 'refused'
  /** Hints of the vendor's own, such as `prompt_cache_key` and `verbosity`. */
  readonly vendorHints: boolean
  /** Whether the backend drops reasoning that no longer fits its prompt, instead of refusing it, when it is told to. */
  readonly blockBinding: boolean
}

/** Values that no server refuses: for chat an engine such as Ollama, llama.cpp, vLLM or LM Studio. */
export const DEFAULT_CAPS: Readonly<Record<Dialect, ModelCaps>> = {
  chat: {
    midSystem: false,
    sampling: true,
    topK: true,
    prefill: true,
    thinking: 'none',
    efforts: ['none', 'low', 'medium', 'high'],
    effortHints: false,
    maxOutput: 32_000,
    limitName: 'max_tokens',
    strictTools: false,
    images: true,
    pdf: false,
    audio: false,
    cacheMarks: 'none',
    customTools: false,
    namedChoice: false,
    hostedSearch: false,
    reasoningReplay: 'refused',
    vendorHints: false,
    blockBinding: false,
  },
  responses: {
    midSystem: true,
    sampling: true,
    topK: false,
    prefill: true,
    thinking: 'none',
    efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
    effortHints: true,
    maxOutput: 32_000,
    limitName: 'max_completion_tokens',
    strictTools: true,
    images: true,
    pdf: true,
    audio: false,
    cacheMarks: 'none',
    customTools: true,
    namedChoice: true,
    hostedSearch: false,
    reasoningReplay: 'accepted',
    vendorHints: true,
    blockBinding: false,
  },
  messages: {
    midSystem: false,
    sampling: false,
    topK: false,
    prefill: false,
    thinking: 'none',
    efforts: ['low', 'medium', 'high'],
    effortHints: false,
    maxOutput: 32_000,
    limitName: 'max_tokens',
    strictTools: false,
    images: true,
    pdf: true,
    audio: false,
    cacheMarks: 'explicit',
    customTools: false,
    namedChoice: true,
    hostedSearch: false,
    reasoningReplay: 'accepted',
    vendorHints: false,
    blockBinding: false,
  },
}

const EFFORT_ORDER: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** The effort that a model knows for the one that was asked for; a word that no dialect knows stays as it is. */
export function nearestEffort(asked: string, known: readonly Effort[]): string {
  // The least effort is still some: it does not become none.
  if (asked === 'minimal' && !known.includes('minimal')) return known.find((effort) => effort !== 'none') ?? asked
  const place = EFFORT_ORDER.indexOf(asked)
  if (place === -1 || (known as readonly string[]).includes(asked)) return asked
  return known.findLast((effort) => EFFORT_ORDER.indexOf(effort) < place) ?? known[0] ?? asked
}
