/** What a call may cost before its answer is there. */
import { TOKEN_LIMITS } from '../dialects/dialects.ts'
import type { Json } from '../dialects/json/read-json.ts'
import { isKnown, NO_USAGE } from '../dialects/usage.ts'
import type { Usage } from '../dialects/usage.ts'

/** What an estimate needs of a request. */
export type CallSize = {
  /** Of the body. */
  readonly bytes: number
  /** The most tokens that all answers to the request may have together; null when the request does not say. */
  readonly maxOutputTokens: number | null
}

/** English text and code have about four bytes in a token. */
const BYTES_PER_TOKEN = 4

/**
 * Agents allow answers of 32,000 tokens and get about 500. Reserving all that they allow would refuse calls while most
 * of a limit is left.
 */
const MAX_RESERVED_OUTPUT_TOKENS = 4096

/**
 * Beyond the tokens above, an answer whose tokens were not reported has one for this many bytes. Each event of a stream
 * has far more bytes than its text, but some vendors put many tokens in one event.
 */
const BYTES_PER_STREAMED_TOKEN = 64

/** The members that ask for several answers to one request, which are billed together. */
const ANSWER_COUNTS = ['n', 'best_of']

/** The size of a call: the bytes of its body, and the most output tokens that it allows for all of its answers. */
export function toCallSize(bytes: number, body: Json): CallSize {
  // The largest limit, because a backend reads only those of its dialect, and ignores a small one beside them.
  const limits = TOKEN_LIMITS.map((name) => body[name]).filter(isPositive)
  const answers = Math.max(1, ...ANSWER_COUNTS.map((name) => body[name]).filter(isPositive))
  return { bytes, maxOutputTokens: limits.length > 0 ? Math.max(...limits) * answers : null }
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}

/**
 * The usage to reserve for a call: its whole body as uncached input, and the output that it allows, of which at most
 * 4,096 tokens.
 */
export function estimateUsage({ bytes, maxOutputTokens }: CallSize): Usage {
  const outputTokens = Math.min(maxOutputTokens ?? Infinity, MAX_RESERVED_OUTPUT_TOKENS)
  return { ...NO_USAGE, inputTokens: toTokens(bytes), outputTokens }
}

/**
 * The usage of an answer that has not reported all of it: what was reported, and an estimate of the rest. Without a
 * report the whole body of the request is uncached input. `unreportedBytes`: the size of the answer behind the last
 * report.
 */
export function completeUsage(reported: Usage, { bytes, maxOutputTokens }: CallSize, unreportedBytes: number): Usage {
  const written = Math.max(
    Math.min(toTokens(unreportedBytes), MAX_RESERVED_OUTPUT_TOKENS),
    Math.ceil(unreportedBytes / BYTES_PER_STREAMED_TOKEN),
  )
  const outputTokens = (reported.outputTokens ?? 0) + Math.min(maxOutputTokens ?? Infinity, written)
  return { ...(isKnown(reported) ? reported : { ...NO_USAGE, inputTokens: toTokens(bytes) }), outputTokens }
}

function toTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}
