import type { Json } from '../json/read-json.ts'
import type { Usage } from './usage.ts'

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
