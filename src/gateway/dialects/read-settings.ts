import { isGiven, readCount, readName, readNumber, readObject } from './json/read-json.ts'
import type { Json } from './json/read-json.ts'
import { refuse } from './refusal.ts'

/**
 * Reads a token limit of a request; null where there is none. Roo Code and clients of engines ask for no limit with -1.
 * Throws a refusal for 0, a fraction, and another type.
 */
export function readLimit(body: Json, name: string): number | null {
  const value = body[name]
  if (!isGiven(value) || value === -1) return null
  const limit = readCount(value)
  if (limit === null || limit === 0) refuse(name, 'It must be a whole number of at least 1.')
  return limit
}

/** Reads a number that decides how the answer is sampled; null where there is none. Refuses any other value. */
export function readSampling(body: Json, name: string): number | null {
  const value = body[name]
  return isGiven(value) ? (readNumber(value) ?? refuse(name, 'It must be a number.')) : null
}

/**
 * Reads the reasoning effort of the chat or the responses dialect; null where there is none. Open WebUI also sends
 * `reasoning_effort`, the member of chat, in responses. Qwen Code sends `reasoning.effort`, that of responses, in chat.
 */
export function readEffort(body: Json): string | null {
  return readName(body.reasoning_effort) ?? readName(readObject(body.reasoning).effort)
}

/** Reads the texts at which an answer ends: one text, or a list. Refuses any other value. */
export function readStops(body: Json, name: string): readonly string[] {
  const value = body[name] ?? []
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
  return texts.map((one) => (typeof one === 'string' ? one : refuse(name, 'It must be a text or a list of texts.')))
}
