import { createHash } from 'node:crypto'

/** Vendors refuse user ids and cache keys that are longer. */
const MAX_KEY_CHARACTERS = 64

/** The text itself, or a digest of one that is too long: cutting it off would make different keys the same. */
export function toKey(text: string): string {
  return text.length <= MAX_KEY_CHARACTERS ? text : createHash('sha256').update(text).digest('hex')
}
