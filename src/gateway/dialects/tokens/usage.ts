/** The tokens of a call in classes that do not overlap, because each class has its own price. */
import { isObject } from '../../../kernel/json.ts'
import { readList, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'

/** Tokens of one answer; null where the answer did not report them. */
export type Usage = {
  /** Input that was neither read from a cache nor written to one. */
  readonly inputTokens: number | null
  /** Input that was read from a cache. */
  readonly cacheReadTokens: number | null
  /** Input that was written to a cache for a short time, such as 5 minutes. */
  readonly cacheWriteTokens: number | null
  /** Input that was written to a cache for an hour or longer. */
  readonly cacheWriteLongTokens: number | null
  /** All output, with the reasoning. */
  readonly outputTokens: number | null
  /** The part of the output that is reasoning. */
  readonly reasoningTokens: number | null
}

/** The usage of an answer that reported none. */
export const NO_USAGE: Usage = {
  inputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  cacheWriteLongTokens: null,
  outputTokens: null,
  reasoningTokens: null,
}

/** The usage of a call that uses no tokens, such as one that counts them. */
export const FREE_USAGE: Usage = { ...NO_USAGE, inputTokens: 0, outputTokens: 0 }

/** Whether the answer reported its tokens. */
export function isKnown({ inputTokens, outputTokens }: Usage): boolean {
  return inputTokens !== null || outputTokens !== null
}

/** All tokens of the prompt, as far as they are known. */
export function promptTokensOf({
  inputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  cacheWriteLongTokens,
}: Usage): number {
  return (inputTokens ?? 0) + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0) + (cacheWriteLongTokens ?? 0)
}

/**
 * The members for tokens that were written to a cache, as the chat and the responses dialect have them. The details are
 * left out where they add nothing, because the SDK `@openai/agents` fails on an object among the details of a usage.
 */
export function writtenTokens({ cacheWriteTokens, cacheWriteLongTokens }: Usage): Json {
  const [short, long] = [cacheWriteTokens ?? 0, cacheWriteLongTokens ?? 0]
  if (short + long === 0) return {}
  const details = { cache_write_tokens_details: { ttl_30m_tokens: short, ttl_12h_tokens: long } }
  return { cache_write_tokens: short + long, ...(long > 0 && details) }
}

/** The numbers of a usage object by the names that the dialects give them; those of nested objects as `outer.inner`. */
export type Counts = Record<string, number>

/** The maximum of a 32-bit column. A larger number is not plausible and is ignored. */
const MAX_TOKENS = 0x7fff_ffff
/** The levels of objects inside a usage object, such as `prompt_tokens_details.cache_write_tokens_details`. */
const MAX_NESTED = 2

/** Reads the usage object of an answer of any dialect; null when it is not an object. */
export function readUsage(value: unknown): Usage | null {
  return isObject(value) ? toUsage(toCounts(value)) : null
}

/** Reads the numbers of a usage object; none when it is not an object. */
export function toCounts(value: unknown): Counts {
  const usage = readObject(value)
  const counts = addCounts({}, usage, '', MAX_NESTED)
  for (const iteration of readList(usage.iterations)) {
    const { type, ...further } = readObject(iteration)
    if (!FURTHER_ITERATIONS.has(type)) continue
    for (const [name, count] of Object.entries(addCounts({}, further, FURTHER, MAX_NESTED)))
      counts[name] = (counts[name] ?? 0) + count
  }
  return counts
}

/**
 * What a messages backend also did within a call: compactions of the conversation, and requests to an advisor model.
 * They are billed, and not in the counts of the answer (Anthropic API, `usage.iterations`).
 */
const FURTHER_ITERATIONS: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message'])

/** The prefix of their counts. */
const FURTHER = 'further.'

function addCounts(counts: Counts, members: Json, prefix: string, levels: number): Counts {
  for (const name in members) {
    const value = members[name]
    if (isTokens(value)) counts[prefix + name] = value
    else if (levels > 0 && isObject(value)) addCounts(counts, value, `${prefix}${name}.`, levels - 1)
  }
  return counts
}

function isTokens(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS
}

/**
 * Converts the counts of an answer of any dialect; their names show the dialect. Chat completions and responses include
 * cached tokens in the input, and messages counts them beside it. Counts that exceed the whole of which they are a part
 * are cut to it.
 */
export function toUsage(counts: Counts): Usage {
  const own = toOwnUsage(counts)
  return counts[`${FURTHER}output_tokens`] === undefined ? own : sum(own, toOwnUsage(furtherOf(counts)))
}

function furtherOf(counts: Counts): Counts {
  const further = Object.entries(counts).filter(([name]) => name.startsWith(FURTHER))
  return Object.fromEntries(further.map(([name, count]) => [name.slice(FURTHER.length), count]))
}

function sum(a: Usage, b: Usage): Usage {
  const add = (one: number | null, other: number | null) =>
    one === null && other === null ? null : Math.min((one ?? 0) + (other ?? 0), MAX_TOKENS)
  return {
    inputTokens: add(a.inputTokens, b.inputTokens),
    cacheReadTokens: add(a.cacheReadTokens, b.cacheReadTokens),
    cacheWriteTokens: add(a.cacheWriteTokens, b.cacheWriteTokens),
    cacheWriteLongTokens: add(a.cacheWriteLongTokens, b.cacheWriteLongTokens),
    outputTokens: add(a.outputTokens, b.outputTokens),
    reasoningTokens: add(a.reasoningTokens, b.reasoningTokens),
  }
}

/** The usage of the answer itself. */
function toOwnUsage(counts: Counts): Usage {
  const includedRead = pick(counts, CACHE_READ)
  const includedWritten = pick(counts, CACHE_WRITTEN)
  const cacheRead = includedRead ?? counts['cache_read_input_tokens']
  const isIncluded = counts['prompt_tokens'] !== undefined || (includedRead ?? includedWritten) !== undefined
  const input = pick(counts, INPUT)
  const output = pick(counts, OUTPUT)
  const prompt =
    isIncluded && input !== undefined ? withCached(input, cacheRead ?? 0, output, counts['total_tokens']) : null
  const read = upTo(cacheRead, prompt)
  const written = upTo(includedWritten ?? counts['cache_creation_input_tokens'], prompt && prompt - (read ?? 0))
  const long = upTo(pick(counts, CACHE_WRITTEN_LONG), written)
  return {
    inputTokens: prompt === null ? (input ?? null) : prompt - (read ?? 0) - (written ?? 0),
    cacheReadTokens: read,
    cacheWriteTokens: written === null ? null : written - (long ?? 0),
    cacheWriteLongTokens: long,
    ...toOutput(prompt, output, { reasoning: pick(counts, REASONING), total: counts['total_tokens'] }),
  }
}

function upTo(count: number | undefined, max: number | null): number | null {
  return count === undefined ? null : Math.min(count, max ?? Infinity)
}

/**
 * The input tokens, with those that were read from a cache. In the chat and responses dialects `input` includes them.
 * Some servers count them separately: then the total is the sum of all three.
 */
function withCached(input: number, cached: number, output: number = 0, total: number = 0): number {
  return total === input + cached + output ? total - output : input
}

/**
 * Adds a later report of the same answer, whose counts replace those of the earlier one. Zero input tokens in
 * it are ignored: SGLang reports the prompt at the start of a messages stream, and zeros at its end.
 */
export function withLaterReport(earlier: Counts, later: Counts): Counts {
  const hasPrompt = later['input_tokens'] !== 0 || CACHED_BESIDE.some((name) => (later[name] ?? 0) > 0)
  if (hasPrompt) return { ...earlier, ...later }
  const output = Object.entries(later).filter(([name]) => name.startsWith('output_tokens'))
  return { ...later, ...earlier, ...Object.fromEntries(output) }
}

/** Input that came from a cache or went to one, in the messages dialect. */
const CACHED_BESIDE = ['cache_read_input_tokens', 'cache_creation_input_tokens'] as const

/** The first of these counts that is there. */
function pick(counts: Counts, names: readonly string[]): number | undefined {
  for (const name of names) if (counts[name] !== undefined) return counts[name]
  return undefined
}

const INPUT = ['prompt_tokens', 'input_tokens'] as const
const OUTPUT = ['completion_tokens', 'output_tokens'] as const

/** Input that came from a cache, where the input includes it. The last two names are DeepSeek's and Moonshot's. */
const CACHE_READ = [
  'prompt_tokens_details.cached_tokens',
  'input_tokens_details.cached_tokens',
  'prompt_cache_hit_tokens',
  'cached_tokens',
] as const

/** Input that went to a cache, where the input includes it. The last name is Alibaba's. */
const CACHE_WRITTEN = [
  'prompt_tokens_details.cache_write_tokens',
  'input_tokens_details.cache_write_tokens',
  'prompt_tokens_details.cache_creation_input_tokens',
] as const

const CACHE_WRITTEN_LONG = [
  'prompt_tokens_details.cache_write_tokens_details.ttl_12h_tokens',
  'input_tokens_details.cache_write_tokens_details.ttl_12h_tokens',
  'cache_creation.ephemeral_1h_input_tokens',
] as const

const REASONING = [
  'completion_tokens_details.reasoning_tokens',
  'output_tokens_details.reasoning_tokens',
  'output_tokens_details.thinking_tokens',
] as const

/**
 * The output, with the reasoning. Some servers count the reasoning beside the completion, which their total shows: xAI
 * reports it, and Google's chat completions have it only in the total.
 */
function toOutput(
  prompt: number | null,
  output: number | undefined,
  { reasoning, total }: { readonly reasoning: number | undefined; readonly total: number | undefined },
): Pick<Usage, 'outputTokens' | 'reasoningTokens'> {
  const beside = prompt === null || total === undefined ? 0 : total - prompt - (output ?? 0)
  const isReasoning = beside > 0 && (reasoning === undefined || reasoning === beside)
  if (!isReasoning) return { outputTokens: output ?? null, reasoningTokens: reasoning ?? null }
  return { outputTokens: (output ?? 0) + beside, reasoningTokens: beside }
}
