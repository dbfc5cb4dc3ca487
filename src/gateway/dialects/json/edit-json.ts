/** A range of bytes; `end` is exclusive. */
export type ByteRange = { readonly start: number; readonly end: number }

/** The positions of the members of a JSON object in its bytes. */
export type TopLevel = {
  /** The range of each top-level value, by its decoded name. Of a repeated name it is the last, as in parsers. */
  readonly members: ReadonlyMap<string, ByteRange>
  /**
   * Names that are ambiguous: repeated names (`"mod\u0065l"` is `"model"`), and names that differ only in case, which
   * decoders such as Go's encoding/json treat as equal. Two readers may read different values for them.
   */
  readonly duplicates: readonly string[]
  /** The offset after the opening brace. */
  readonly start: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const COLON = 0x3a

/**
 * Finds the members of a JSON object in one pass that parses only the names. The bytes must be valid JSON, because not
 * every syntax error is detected. Null when they are not an object.
 */
export function scanTopLevel(bytes: Buffer): TopLevel | null {
  const open = skipSpace(bytes, hasByteOrderMark(bytes) ? 3 : 0)
  if (bytes[open] !== OPEN_BRACE) return null

  const members = new Map<string, ByteRange>()
  const seen = new Set<string>()
  const duplicates = new Set<string>()
  let at = skipSpace(bytes, open + 1)
  while (bytes[at] === QUOTE) {
    const nameEnd = stringEnd(bytes, at)
    const name = memberName(bytes, at, nameEnd)
    const colon = skipSpace(bytes, nameEnd)
    if (name === null || bytes[colon] !== COLON) return null
    const start = skipSpace(bytes, colon + 1)
    const end = valueEnd(bytes, start)
    if (seen.has(foldCase(name))) duplicates.add(name)
    seen.add(foldCase(name))
    members.set(name, { start, end })
    const next = skipSpace(bytes, end)
    if (bytes[next] === CLOSE_BRACE) return { members, duplicates: [...duplicates], start: open + 1 }
    if (bytes[next] !== COMMA) return null
    at = skipSpace(bytes, next + 1)
  }
  return bytes[at] === CLOSE_BRACE && members.size === 0 ? { members, duplicates: [], start: open + 1 } : null
}

/** Returns the range of the value of a member whose quoted name ends at `nameEnd`. */
export function valueBehind(bytes: Buffer, nameEnd: number): ByteRange {
  const colon = skipSpace(bytes, nameEnd)
  const start = skipSpace(bytes, colon + 1)
  return { start, end: valueEnd(bytes, start) }
}

/**
 * Returns the bytes with these top-level members set. The value of an existing member is replaced; a new member is
 * inserted first; `undefined` leaves a member unchanged. All other bytes stay the same, including numbers, spaces and
 * the order of members. Null when the bytes are not a JSON object.
 */
export function setMembers(
  bytes: Buffer,
  values: Readonly<Record<string, unknown>>,
  scanned: TopLevel | null = scanTopLevel(bytes),
): Buffer | null {
  if (!scanned) return null
  const edits: Edit[] = []
  const inserted: string[] = []
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue
    const range = scanned.members.get(name)
    const text = JSON.stringify(value)
    if (range) edits.push({ range, text })
    else inserted.push(`${JSON.stringify(name)}:${text}`)
  }
  if (inserted.length > 0) {
    const isEmpty = bytes[skipSpace(bytes, scanned.start)] === CLOSE_BRACE
    const text = `${inserted.join(',')}${isEmpty ? '' : ','}`
    edits.push({ range: { start: scanned.start, end: scanned.start }, text })
  }
  return applyEdits(bytes, edits)
}

/** Returns the bytes without these top-level members. Bytes with a repeated name stay as they are. */
export function removeMembers(bytes: Buffer, names: readonly string[]): Buffer {
  return mapMembers(bytes, (name, member) => (names.includes(name) ? [] : [member]))
}

/** Returns the bytes with another name of a top-level member. Bytes with a repeated name stay as they are. */
export function renameMember(bytes: Buffer, from: string, to: string): Buffer {
  return mapMembers(bytes, (name, member, value) =>
    name === from ? [Buffer.from(`${JSON.stringify(to)}:`), value] : [member],
  )
}

/** Returns the bytes with another value of a top-level member. Bytes with a repeated name stay as they are. */
export function changeMember(bytes: Buffer, changed: string, change: (value: Buffer) => Buffer): Buffer {
  return mapMembers(bytes, (name, member, value) =>
    name === changed ? [Buffer.from(`${JSON.stringify(name)}:`), change(value)] : [member],
  )
}

/** Replaces each top-level member by other bytes. `member`: its name and value, with the spaces before them. */
function mapMembers(
  bytes: Buffer,
  replace: (name: string, member: Buffer, value: Buffer) => readonly Buffer[],
): Buffer {
  const scanned = scanTopLevel(bytes)
  if (!scanned || scanned.duplicates.length > 0) return bytes
  const written: Buffer[] = []
  let next = scanned.start
  let last = next
  for (const [name, { start, end }] of scanned.members) {
    const replaced = replace(name, bytes.subarray(next, end), bytes.subarray(start, end))
    if (replaced.length > 0) written.push(Buffer.from(','), ...replaced)
    last = end
    next = skipSpace(bytes, end) + 1
  }
  return Buffer.concat([bytes.subarray(0, scanned.start), ...written.slice(1), bytes.subarray(last)])
}

type Edit = { readonly range: ByteRange; readonly text: string }

function applyEdits(bytes: Buffer, edits: readonly Edit[]): Buffer {
  let length = bytes.length
  for (const { range, text } of edits) length += Buffer.byteLength(text) - (range.end - range.start)
  const out = Buffer.allocUnsafe(length)
  let from = 0
  let at = 0
  for (const { range, text } of edits.toSorted((a, b) => a.range.start - b.range.start)) {
    at += bytes.copy(out, at, from, range.start)
    at += out.write(text, at)
    from = range.end
  }
  bytes.copy(out, at, from)
  return out
}

/**
 * A name without regard to case. Upper case comes first, because readers that ignore case treat U+017F as `s` and
 * U+212A as `k`.
 */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase()
}

function memberName(bytes: Buffer, start: number, end: number): string | null {
  const quoted = bytes.toString('utf8', start, end)
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return String(JSON.parse(quoted))
  } catch {
    return null
  }
}

function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** The offset of the first byte from `from` on that is no white space. */
export function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  while (isSpace(bytes[at])) at++
  return at
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function valueEnd(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return stringEnd(bytes, start)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return nestedEnd(bytes, start)
  let at = start
  while (at < bytes.length && bytes[at] !== COMMA && bytes[at] !== CLOSE_BRACE && !isSpace(bytes[at])) at++
  return at
}

function nestedEnd(bytes: Buffer, start: number): number {
  let depth = 0
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) at = stringEnd(bytes, at) - 1
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return at + 1
  }
  return bytes.length
}

/** The first bytes of a string are read one by one, because a native search is faster only for longer strings. */
const MAX_SINGLE_BYTES = 96

/** The offset after the closing quote of the string that opens at `open`. */
function stringEnd(bytes: Buffer, open: number): number {
  let at = open + 1
  for (;;) {
    for (const walkEnd = Math.min(at + MAX_SINGLE_BYTES, bytes.length); at < walkEnd; at++) {
      const byte = bytes[at]
      if (byte === QUOTE) return at + 1
      if (byte === BACKSLASH) at++
    }
    const quote = bytes.indexOf(QUOTE, at)
    if (quote === -1) return bytes.length
    if (!isEscaped(bytes, quote, at)) return quote + 1
    at = quote + 1
  }
}

/** Whether an odd number of backslashes, from `from` on, precedes the quote. The byte at `from` is never escaped. */
function isEscaped(bytes: Buffer, quote: number, from: number): boolean {
  let before = quote
  while (before > from && bytes[before - 1] === BACKSLASH) before--
  return (quote - before) % 2 === 1
}
