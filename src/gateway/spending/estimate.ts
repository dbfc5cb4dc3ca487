/** What a call may cost before its answer is there. */
import { TOKEN_LIMITS } from '../dialects/dialects.ts'
import type { Json } from '../dialects/json/read-json.ts'
import { NO_USAGE } from '../dialects/usage.ts'
import type { Usage } from '../dialects/usage.ts'

/** What an estimate needs of a request. */
export type CallSize = {
  /** Of the body. */
  readonly bytes: number
  /** The most tokens that the answer may have; null when the request does not say. */
  readonly maxOutputTokens: number | null
}

/** English text and code have about four bytes in a token. */
const BYTES_PER_TOKEN = 4

/**
 * Agents allow answers of 32,000 tokens and get about 500. Reserving all that they allow would refuse calls while most
 * of a limit is left.
 */
const MAX_RESERVED_OUTPUT_TOKENS = 4096

/** The size of a call: the bytes of its body, and the smallest limit of output tokens that the body names. */
export function toCallSize(bytes: number, body: Json): CallSize {
  const limits = TOKEN_LIMITS.map((name) => body[name]).filter((limit) => typeof limit === 'number' && limit > 0)
  return { bytes, maxOutputTokens: limits.length > 0 ? Math.min(...(limits as number[])) : null }
}

/**
 * The usage to reserve for a call: its whole body as uncached input, and the output that it allows, of which at most
 * 4,096 tokens. `answerBytes`: the size of the answer, where it has ended without a count.
 */
export function estimateUsage({ bytes, maxOutputTokens }: CallSize, answerBytes = Infinity): Usage {
  const allowed = Math.min(maxOutputTokens ?? Infinity, MAX_RESERVED_OUTPUT_TOKENS)
  return {
    ...NO_USAGE,
    inputTokens: toTokens(bytes),
    outputTokens: Math.min(allowed, toTokens(answerBytes)),
  }
}

function toTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}
