/** What a call may cost before its answer is there. */
import type { Dialect } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import type { Json } from '../dialects/json/read-json.ts'
import { isKnown, NO_USAGE } from '../dialects/tokens/usage.ts'
import type { Usage } from '../dialects/tokens/usage.ts'
import { readServiceTier } from '../prices/service-tier.ts'
import type { ServiceTier } from '../prices/service-tier.ts'

/** What an estimate needs of a request. */
export type CallSize = {
  /** Of the body. */
  readonly bytes: number
  /** The maximum number of tokens of one answer; infinite when the request does not say. */
  readonly maxOutputTokens: number
  /** How many answers it asks for. */
  readonly answers: number
  readonly serviceTier: ServiceTier
}

/** English text and code have about four bytes in a token. */
const BYTES_PER_TOKEN = 4

/**
 * Agents allow answers of 32,000 tokens and get about 500. Reserving all that they allow would refuse calls while most
 * of a limit is left.
 */
const MAX_RESERVED_OUTPUT_TOKENS = 4096

/**
 * An answer whose tokens were not reported counts at least one token for this many bytes, also above the maximum. Each
 * event of a stream has far more bytes than its text, but some vendors put many tokens in one event.
 */
const BYTES_PER_STREAMED_TOKEN = 64

/** The size of a request in a dialect. Of several limits the largest counts, because backends obey different ones. */
export function toCallSize(bytes: number, body: Json, dialect: Dialect): CallSize {
  const { tokenLimits, answerCounts } = DIALECTS[dialect]
  const limits = readNumbers(body, tokenLimits)
  return {
    bytes,
    // An engine reads a limit below 1 as no limit.
    maxOutputTokens: limits.length > 0 && limits.every((limit) => limit > 0) ? Math.max(...limits) : Infinity,
    answers: Math.max(1, ...readNumbers(body, answerCounts)),
    serviceTier: readServiceTier(body),
  }
}

function readNumbers(body: Json, names: readonly string[]): number[] {
  return names.map((name) => body[name]).filter((value) => typeof value === 'number')
}

/**
 * The usage to reserve for a call: its whole body as uncached input, and the output that it allows, of which at most
 * 4,096 tokens for each answer.
 */
export function estimateUsage({ bytes, maxOutputTokens, answers }: CallSize): Usage {
  const outputTokens = toWhole(answers * Math.min(maxOutputTokens, MAX_RESERVED_OUTPUT_TOKENS))
  return { ...NO_USAGE, inputTokens: toTokens(bytes), outputTokens }
}

/**
 * The usage of an answer that has not reported all of it: what was reported, and an estimate of the rest. Without a
 * report the whole body of the request is uncached input. `unreportedBytes`: the size of the answer behind the last
 * report.
 */
export function completeUsage(reported: Usage, size: CallSize, unreportedBytes: number): Usage {
  const { bytes, maxOutputTokens, answers } = size
  const written = Math.max(
    Math.min(toTokens(unreportedBytes), answers * MAX_RESERVED_OUTPUT_TOKENS),
    Math.ceil(unreportedBytes / BYTES_PER_STREAMED_TOKEN),
  )
  const outputTokens = (reported.outputTokens ?? 0) + toWhole(Math.min(answers * maxOutputTokens, written))
  return { ...(isKnown(reported) ? reported : { ...NO_USAGE, inputTokens: toTokens(bytes) }), outputTokens }
}

/** Callers may ask for any number of tokens and answers, such as 1.5 and 1e308, and costs need whole ones. */
function toWhole(tokens: number): number {
  return Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER)
}

function toTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}
