import { isAscii } from 'node:buffer'
import { parseJson } from '../../../kernel/json.ts'
import { isObject, readList } from '../../dialects/json/read-json.ts'
import type { Json } from '../../dialects/json/read-json.ts'
import { shortenTexts } from '../../dialects/json/shorten-texts.ts'

/**
 * Members that hold the conversation and its tools. Their texts only pass through this service, except for the model
 * that a tool names.
 */
const CONTENT: ReadonlySet<string> = new Set(['messages', 'input', 'prompt', 'system', 'instructions', 'tools'])

/** Nothing that decides a call is nested deeper. */
const MAX_DECISIVE_DEPTH = 8

/**
 * Parses the body of a call. The bytes must be valid UTF-8; throws when they are not JSON. All of it is exact but the
 * texts of the conversation: long ones are cut, and of a body with other than ASCII characters they have one character
 * for each byte. `parseExactBody` reads those.
 *
 * The bytes are read as Latin-1, because decoding UTF-8 and parsing its result takes twice as long. Structure, numbers
 * and ASCII texts come out the same, because every byte of a longer UTF-8 character is above ASCII.
 */
export function parseBody(bytes: Buffer): unknown {
  const shortened = parseShortened(bytes)
  const body: unknown = shortened ?? JSON.parse(bytes.toString('latin1'))
  const isExact = !shortened && isAscii(bytes)
  return isExact || decidesExactly(body) ? body : parseUtf8(bytes)
}

/** The body with the exact texts of the conversation. `body` is what `parseBody` has read from the same bytes. */
export function parseExactBody(bytes: Buffer, body: unknown): unknown {
  return isAscii(bytes) && shortenTexts(bytes) === null ? body : parseUtf8(bytes)
}

/** The body with its long texts cut; null when it has none, or when it cannot be parsed like this. */
function parseShortened(bytes: Buffer): Json | null {
  const shortened = shortenTexts(bytes)
  const body = shortened === null ? null : parseJson(shortened)
  return isObject(body) ? body : null
}

function parseUtf8(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString('utf8'))
}

/** Whether all that may decide a call is exact: every name, and every text outside of the conversation. */
function decidesExactly(body: unknown): boolean {
  if (!isObject(body)) return false
  for (const name in body) {
    if (!isExactText(name)) return false
    if (!CONTENT.has(name) && !isExactValue(body[name], MAX_DECISIVE_DEPTH)) return false
  }
  return readList(body.tools).every((tool) => !isObject(tool) || isExactValue(tool.model, MAX_DECISIVE_DEPTH))
}

function isExactValue(value: unknown, levels: number): boolean {
  if (typeof value === 'string') return isExactText(value)
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.entries(value).every(([name, of]) => isExactText(name) && isExactValue(of, levels - 1))
}

/** Whether a text is in ASCII, and is not cut. */
function isExactText(text: string): boolean {
  return /^[\0-\x7e]*$/.test(text)
}
