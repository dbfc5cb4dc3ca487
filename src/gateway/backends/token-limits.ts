import { TOKEN_LIMITS } from '../dialects/dialects.ts'
import type { Json } from '../dialects/json/read-json.ts'

/**
 * Returns the token limits of a request that exceed the maximum, lowered to it. A negative limit is replaced too,
 * because engines read it as no limit. An absent limit stays absent, so the server's own default applies.
 */
export function clampTokens(body: Json, maxTokens: number): Readonly<Record<string, number>> {
  const tooHigh = TOKEN_LIMITS.filter((name) => {
    const limit = body[name]
    return typeof limit === 'number' && (limit > maxTokens || limit < 0)
  })
  return Object.fromEntries(tooHigh.map((name) => [name, maxTokens]))
}
