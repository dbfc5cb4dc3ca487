import { createHash } from 'node:crypto'

/** The vendors' limit for user ids and cache keys. */
const MAX_KEY_CHARACTERS = 64

/** Returns the text, or its SHA-256 when it is too long. It is not cut, because two long keys may begin alike. */
export function shortenKey(text: string): string {
  return text.length <= MAX_KEY_CHARACTERS ? text : createHash('sha256').update(text).digest('hex')
}
