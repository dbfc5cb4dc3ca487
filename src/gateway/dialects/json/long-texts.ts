/**
 * Long texts of a document that is parsed, changed and written again, such as the conversation of a translated call.
 * Most of them stay the same. They are decoded one by one, because V8 takes fresh memory from the kernel for a string
 * of a whole document, and they are written as the bytes that they had.
 */
import type { ByteRange } from './edit-json.ts'
import { CUT_MARK } from './shorten-texts.ts'
import type { ShortenedJson } from './shorten-texts.ts'

/** Long texts of a document, by their length: one for each length, so that finding one never takes long. */
export type LongTexts = { readonly bytes: Buffer; readonly byLength: ReadonlyMap<number, LongText> }

type LongText = { readonly text: string; readonly range: ByteRange }

/**
 * Parses a document with its shortened form, by a function that parses JSON. `parsed` is what the shortened form was
 * parsed to before, where that is exact but for its cuts; they are restored in it. The bytes must be valid UTF-8, and
 * values may not be nested deeper than the stack allows.
 */
export function parseWithTexts(
  bytes: Buffer,
  { text, cuts }: ShortenedJson,
  parse: (json: string) => unknown,
  parsed?: unknown,
): { readonly value: unknown; readonly texts: LongTexts } {
  const byLength = new Map<number, LongText>()
  const texts = { bytes, byLength }
  // The document has the mark itself, so it is not known which texts were cut.
  if (bytes.includes(CUT_MARK) || ESCAPED_MARK.test(text)) return { value: parse(bytes.toString('utf8')), texts }
  const restore = (start: string): string => {
    const cut = cuts[Number(start.slice(start.indexOf(CUT_MARK) + CUT_MARK.length))]
    if (!cut) return start
    const whole = String(JSON.parse(bytes.toString('utf8', cut.range.start, cut.range.end)))
    if (!byLength.has(whole.length)) byLength.set(whole.length, { text: whole, range: cut.range })
    return whole
  }
  const shortened = parsed ?? parse(Buffer.from(text, 'latin1').toString('utf8'))
  return { value: restoreTexts(shortened, restore), texts }
}

/** How JSON may write `CUT_MARK`. */
const ESCAPED_MARK = /u007f/i

/** Restores the texts of a value that were cut, in place. */
function restoreTexts(value: unknown, restore: (shortened: string) => string): unknown {
  if (typeof value === 'string') return value.includes(CUT_MARK) ? restore(value) : value
  if (typeof value !== 'object' || value === null) return value
  // Two loops, because reading a list by names takes three times as long.
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) value[at] = restoreTexts(value[at], restore)
    return value
  }
  const members = value as Record<string, unknown>
  for (const name in members) {
    const inner = members[name]
    const restored = restoreTexts(inner, restore)
    if (restored !== inner) members[name] = restored
  }
  return value
}

/** Stands for a long text while the rest is written. */
const PLACEHOLDER = JSON.stringify(CUT_MARK)

/** Writes a value as JSON. A text that is one of the long texts is written as the bytes that it had in its document. */
export function writeWithTexts(value: unknown, { bytes, byLength }: LongTexts): Buffer {
  if (byLength.size === 0) return Buffer.from(JSON.stringify(value))
  const ranges: ByteRange[] = []
  let marked = 0
  const json = JSON.stringify(value, (name, inner: unknown) => {
    if (name.includes(CUT_MARK)) marked++
    if (typeof inner !== 'string') return inner
    const known = byLength.get(inner.length)
    if (known?.text === inner) {
      ranges.push(known.range)
      return CUT_MARK
    }
    if (inner.includes(CUT_MARK)) marked++
    return inner
  })
  // Names and texts that have the mark themselves could look like placeholders.
  if (marked > 0) return Buffer.from(JSON.stringify(value))
  const parts = json.split(PLACEHOLDER).flatMap((part, at) => {
    const range = ranges[at]
    return range ? [Buffer.from(part), bytes.subarray(range.start, range.end)] : [Buffer.from(part)]
  })
  return Buffer.concat(parts)
}
