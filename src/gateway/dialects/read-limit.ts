import { isGiven, readCount } from './json/read-json.ts'
import type { Json } from './json/read-json.ts'
import { refuse } from './refusal.ts'

/** Reads a token limit of a request; null where there is none. Throws a refusal for a limit below 1 or a fraction. */
export function readLimit(body: Json, name: string): number | null {
  const value = body[name]
  if (!isGiven(value)) return null
  const limit = readCount(value)
  if (limit === null || limit === 0) refuse(name, 'It must be a whole number of at least 1.')
  return limit
}
