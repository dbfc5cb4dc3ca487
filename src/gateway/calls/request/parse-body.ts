import { isAscii } from 'node:buffer'
import { hasTooManyValues, isObject, TooManyValues } from '../../../kernel/json.ts'
import type { TopLevel } from '../../dialects/json/edit-json.ts'
import { parseWithTexts } from '../../dialects/json/long-texts.ts'
import type { LongTexts } from '../../dialects/json/long-texts.ts'
import { mayLoseDigits, parseToRewrite } from '../../dialects/json/read-json.ts'
import { shortenTexts } from '../../dialects/json/shorten-texts.ts'
import type { ShortenedJson } from '../../dialects/json/shorten-texts.ts'
import { locateDecisive } from './decisive-members.ts'
import { findNestedModels } from './nested-models.ts'

/**
 * Members that hold the conversation and its tools. Their texts only pass through this service, except for the models
 * that tools name.
 */
const CONTENT: ReadonlySet<string> = new Set(['messages', 'input', 'prompt', 'system', 'instructions', 'tools'])

/** Nothing that decides a call is nested deeper. */
const MAX_DECISIVE_DEPTH = 8

/** The body of a call. */
export type ParsedBody = {
  /** As sent, decompressed. */
  readonly bytes: Buffer
  readonly shortened: ShortenedJson
  /**
   * All of it is exact but the texts of the conversation: long ones are cut, and of a body with other than ASCII
   * characters they have one character for each byte. `parseExactBody` reads those.
   */
  readonly value: unknown
  /** Where the decisive members are in the bytes; null when the body is not an object. */
  readonly located: TopLevel | null
}

/**
 * Parses the body of a call. The bytes must be valid UTF-8. Throws when they are not JSON, and `TooManyValues`.
 *
 * Long texts are cut first. The rest is read as Latin-1, because decoding UTF-8 and parsing its result takes twice as
 * long. Structure, numbers and ASCII texts come out the same, because every byte of a longer UTF-8 character is above
 * ASCII.
 */
export function parseBody(bytes: Buffer): ParsedBody {
  const shortened = shortenTexts(bytes)
  if (!shortened) throw new SyntaxError('A text of the document is not JSON.')
  if (hasTooManyValues(shortened.text)) throw new TooManyValues()
  const body: unknown = JSON.parse(shortened.text)
  const isExact = isWhole(bytes, shortened) || decidesExactly(body)
  return {
    bytes,
    shortened,
    value: isExact ? body : JSON.parse(bytes.toString('utf8')),
    located: isObject(body) ? locateDecisive(bytes, shortened, body) : null,
  }
}

/** A body with the exact texts of the conversation. */
export type ExactBody = {
  /** Numbers that JavaScript cannot represent keep their digits when they are written again. */
  readonly value: unknown
  /** Its long texts, which are faster to write as the bytes that they had. */
  readonly texts: LongTexts
}

/**
 * Reads the texts of the conversation exactly. Where only long texts are not exact, they are set in `value` itself,
 * which saves parsing the rest again. The body must not be nested too deep.
 */
export function parseExactBody({ bytes, shortened, value }: ParsedBody): ExactBody {
  const hasExactRest = isAscii(bytes) && !mayLoseDigits(shortened.text)
  if (hasExactRest && shortened.cuts.length === 0) return { value, texts: { bytes, byLength: new Map() } }
  return parseWithTexts(bytes, shortened, parseToRewrite, hasExactRest ? value : undefined)
}

/** Whether the shortened document is the document. */
function isWhole(bytes: Buffer, { cuts }: ShortenedJson): boolean {
  return cuts.length === 0 && isAscii(bytes)
}

/** Whether all that may decide a call is exact: every name, and every text outside of the conversation. */
function decidesExactly(body: unknown): boolean {
  if (!isObject(body)) return false
  for (const name in body) {
    if (!isExactText(name)) return false
    if (!CONTENT.has(name) && !isExactValue(body[name], MAX_DECISIVE_DEPTH)) return false
  }
  return findNestedModels(body).every(({ name }) => isExactValue(name, MAX_DECISIVE_DEPTH))
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
