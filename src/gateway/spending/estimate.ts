/** What a call may cost before its answer is there. */
import type { Dialect } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import type { Json } from '../dialects/json/read-json.ts'
import { NO_USAGE } from '../dialects/usage.ts'
import type { Usage } from '../dialects/usage.ts'

/** What an estimate needs of a request. */
export type CallSize = {
  /** Of the body. */
  readonly bytes: number
  /** The most tokens that one answer may have; infinite when the request does not say. */
  readonly maxOutputTokens: number
  /** How many answers it asks for. */
  readonly answers: number
}

/** English text and code have about four bytes in a token. */
const BYTES_PER_TOKEN = 4

/**
 * Agents allow answers of 32,000 tokens and get about 500. Reserving all that they allow would refuse calls while most
 * of a limit is left.
 */
const MAX_RESERVED_OUTPUT_TOKENS = 4096

/** The size of a request in a dialect. Of several limits the largest counts, because backends obey different ones. */
export function toCallSize(bytes: number, body: Json, dialect: Dialect): CallSize {
  const { tokenLimits, answerCounts } = DIALECTS[dialect]
  const limits = readNumbers(body, tokenLimits)
  return {
    bytes,
    // An engine reads a limit below 1 as no limit.
    maxOutputTokens: limits.length > 0 && limits.every((limit) => limit > 0) ? Math.max(...limits) : Infinity,
    answers: Math.max(1, ...readNumbers(body, answerCounts)),
  }
}

function readNumbers(body: Json, names: readonly string[]): number[] {
  return names.map((name) => body[name]).filter((value) => typeof value === 'number')
}

/**
 * The usage to reserve for a call: its whole body as uncached input, and the output that it allows, of which at most
 * 4,096 tokens for each answer. `answerBytes`: the size of the answer, where it has ended without a count.
 */
export function estimateUsage({ bytes, maxOutputTokens, answers }: CallSize, answerBytes = Infinity): Usage {
  const allowed = answers * Math.min(maxOutputTokens, MAX_RESERVED_OUTPUT_TOKENS)
  return {
    ...NO_USAGE,
    inputTokens: toTokens(bytes),
    outputTokens: Math.min(allowed, toTokens(answerBytes)),
  }
}

function toTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}
