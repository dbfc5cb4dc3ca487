import { TOKEN_LIMITS } from '../dialects/dialects.ts'
import type { Json } from '../dialects/json/read-json.ts'

/**
 * The token limits of a request that are above the maximum, lowered to it. Engines read a negative limit as none. A
 * limit that is absent stays absent: the server's own default then counts.
 */
export function clampTokens(body: Json, maxTokens: number): Readonly<Record<string, number>> {
  const tooHigh = TOKEN_LIMITS.filter((name) => {
    const limit = body[name]
    return typeof limit === 'number' && (limit > maxTokens || limit < 0)
  })
  return Object.fromEntries(tooHigh.map((name) => [name, maxTokens]))
}
