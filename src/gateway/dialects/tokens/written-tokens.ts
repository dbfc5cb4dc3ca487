import type { Json } from '../json/read-json.ts'
import type { AnswerUsage } from '../neutral.ts'

/** The members for tokens that were written to a cache, as the chat and the responses dialect have them. */
export function writtenTokens(usage: AnswerUsage | null): Json {
  const { written = 0, writtenLong = 0 } = usage ?? {}
  if (written === 0) return {}
  const long = Math.min(writtenLong, written)
  const details = { ttl_30m_tokens: written - long, ttl_12h_tokens: long }
  return { cache_write_tokens: written, cache_write_tokens_details: details }
}
