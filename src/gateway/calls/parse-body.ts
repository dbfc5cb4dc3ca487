import { isAscii } from 'node:buffer'
import { isObject, readList } from '../dialects/json/read-json.ts'

/**
 * Members that hold the conversation and its tools. Their texts only pass through this service, except for the model
 * that a tool names.
 */
const CONTENT: ReadonlySet<string> = new Set(['messages', 'input', 'prompt', 'system', 'instructions', 'tools'])

/** Nothing that decides a call is nested deeper. */
const MAX_DECISIVE_DEPTH = 8

/**
 * Parses the body of a call. The bytes must be valid UTF-8; throws when they are not JSON. All of it is exact but the
 * texts of the conversation: of a body with other than ASCII characters, they may have one character for each byte.
 * `exactBodyOf` reads those.
 *
 * The bytes are read as Latin-1, because decoding UTF-8 and parsing its result takes twice as long. Structure, numbers
 * and ASCII texts come out the same, because every byte of a longer UTF-8 character is above ASCII.
 */
export function parseBody(bytes: Buffer): unknown {
  const body: unknown = JSON.parse(bytes.toString('latin1'))
  return isAscii(bytes) || decidesInAscii(body) ? body : parseUtf8(bytes)
}

/** The body with the exact texts of the conversation. `body` is what `parseBody` has read from the same bytes. */
export function parseExactBody(bytes: Buffer, body: unknown): unknown {
  return isAscii(bytes) ? body : parseUtf8(bytes)
}

function parseUtf8(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString('utf8'))
}

/** Whether all that may decide a call is in ASCII: every name, and every text outside of the conversation. */
function decidesInAscii(body: unknown): boolean {
  if (!isObject(body)) return false
  for (const name in body) {
    if (!isAsciiText(name)) return false
    if (!CONTENT.has(name) && !isAsciiValue(body[name], MAX_DECISIVE_DEPTH)) return false
  }
  return readList(body.tools).every((tool) => !isObject(tool) || isAsciiValue(tool.model, MAX_DECISIVE_DEPTH))
}

function isAsciiValue(value: unknown, levels: number): boolean {
  if (typeof value === 'string') return isAsciiText(value)
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.entries(value).every(([name, of]) => isAsciiText(name) && isAsciiValue(of, levels - 1))
}

function isAsciiText(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}
