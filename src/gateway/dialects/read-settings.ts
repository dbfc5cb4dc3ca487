import { isGiven, readCount, readNumber } from './json/read-json.ts'
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

/** Reads a number that decides how the answer is sampled; null where there is none. Refuses any other value. */
export function readSampling(body: Json, name: string): number | null {
  const value = body[name]
  return isGiven(value) ? (readNumber(value) ?? refuse(name, 'It must be a number.')) : null
}

/** Reads the texts at which an answer ends: one text, or a list. Refuses any other value. */
export function readStops(body: Json, name: string): readonly string[] {
  const value = body[name] ?? []
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
  return texts.map((one) => (typeof one === 'string' ? one : refuse(name, 'It must be a text or a list of texts.')))
}
