/**
 * Reads the token usage of a model call from the bytes of its answer while they pass. Only the small object after a
 * `"usage"` key is kept, and only until its event ends. A chunk without such a key costs one native search.
 *
 * The depth of the object decides whether it counts: `usage` is a member of the JSON answer or of the event, or of the
 * `message` or `response` inside the event. The arguments of a tool call or the schema of a tool may contain a `usage`
 * too, but deeper. The depth is known at the end of the event: each bracket that closes between the object and the end
 * of the event encloses the object.
 */
import { parseJson } from '../../../kernel/json.ts'
import { toCounts, toUsage, withLaterReport } from './usage.ts'
import type { Counts, Usage } from './usage.ts'

const NEEDLE = Buffer.from('"usage"')
/** The needle without its first quote. A search that starts with a rare byte is ten times as fast. */
const NEEDLE_TAIL = NEEDLE.subarray(1)
/** Real usage objects have a few hundred bytes, and as many for each iteration of a messages backend. */
const MAX_OBJECT_BYTES = 64 * 1024
/** The maximum number of `usage` objects in one event; the schema of a tool may contain several. */
const MAX_CANDIDATES = 16
/** 1: a member of the answer or the event. 2: a member of its `message` or `response`. */
const MAX_DEPTH = 2

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const TAB = 0x09
const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** `seek`: before a key. `key`: after the key. `value`: after its colon. `scan`: from the object to the event's end. */
type State = 'seek' | 'key' | 'value' | 'scan'

type Candidate = { readonly text: string; readonly depth: number }

/**
 * Reads the usage of one answer of any dialect, whole or a stream. A class, because thousands of these are open at
 * once.
 */
export class UsageScanner {
  #state: State = 'seek'
  /** The number of needle bytes that matched at the end of the last chunk, or in the current string. */
  #matched = 0
  /** The depth relative to the first `usage` object of this event. */
  #depth = 0
  #inString = false
  #escaped = false
  #lineEnds = 0
  #afterCarriageReturn = false
  /** The object that is being read; null between objects. */
  #object: string | null = null
  #objectDepth = 0
  #candidates: Candidate[] = []
  #counts: Counts | null = null
  /** Whether the answer is JSON and not a stream, so that a blank line does not end an event. Null: not known yet. */
  #isWhole: boolean | null = null
  #unreportedBytes = 0

  /** Takes bytes of the answer, cut anywhere. Keeps no reference to them. */
  push(chunk: Buffer): void {
    this.#unreportedBytes += chunk.length
    this.#isWhole ??= startsJson(chunk)
    let at = 0
    while (at < chunk.length) at = this.#state === 'seek' ? this.#seek(chunk, at) : this.#walk(chunk, at)
  }

  /** Returns the last reported usage, because streams report growing numbers. */
  end(): Usage {
    this.#settleEvent()
    return toUsage(this.#counts ?? {})
  }

  /** The bytes behind the last report, whose tokens are not in the usage; to the precision of a chunk. */
  unreportedBytes(): number {
    return this.#unreportedBytes
  }

  /** Searches for the next key. Returns the next position to read. */
  #seek(chunk: Buffer, from: number): number {
    if (this.#matched > 0) {
      const rest = NEEDLE.subarray(this.#matched, this.#matched + chunk.length - from)
      const goesOn = chunk.compare(rest, 0, rest.length, from, from + rest.length) === 0
      this.#matched = goesOn ? this.#matched + rest.length : 0
      if (goesOn && this.#matched === NEEDLE.length) this.#expectValue()
      return goesOn ? from + rest.length : from
    }
    for (let found = chunk.indexOf(NEEDLE_TAIL, from); found !== -1; found = chunk.indexOf(NEEDLE_TAIL, found + 1)) {
      if (found === from || chunk[found - 1] !== QUOTE) continue
      this.#expectValue()
      return found + NEEDLE_TAIL.length
    }
    this.#matched = beginsAtEnd(chunk, from)
    return chunk.length
  }

  #expectValue(): void {
    this.#state = 'key'
    this.#matched = 0
    this.#inString = false
    this.#escaped = false
    this.#lineEnds = 0
  }

  /** Reads byte by byte, only from a `"usage"` key to the end of its event. Returns the next position to read. */
  #walk(chunk: Buffer, from: number): number {
    // Where the bytes of the object begin that are not kept yet.
    let unkept = from
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (this.#state === 'scan') {
        at = this.#scan(chunk, byte, at)
        if (this.#object !== null && this.#depth === this.#objectDepth) this.#close(chunk, unkept, at)
      } else {
        this.#expect(byte)
        unkept = at + 1
      }
      if (this.#state === 'seek') return at + 1
    }
    this.#keep(chunk, unkept, chunk.length)
    return chunk.length
  }

  /** Reads a byte between the key and its value. The event may have several `data:` lines, split at any token. */
  #expect(byte: number): void {
    if (byte === SPACE || byte === TAB || byte === LF || byte === CR) return
    if (this.#state === 'key' && byte === COLON) this.#state = 'value'
    else if (this.#state === 'value' && byte === OPEN_OBJECT) this.#open()
    else if (this.#state !== 'value' || !DATA.includes(byte)) this.#leave(byte)
  }

  #open(): void {
    this.#state = 'scan'
    this.#object = '{'
    this.#objectDepth = this.#depth
    this.#depth += 1
    this.#lineEnds = 0
  }

  /** The value is not an object, so it is skipped. */
  #leave(byte: number): void {
    const hasBegun = this.#candidates.length > 0
    this.#state = hasBegun ? 'scan' : 'seek'
    if (hasBegun) this.#structure(byte)
  }

  /** Reads one byte, or the bytes of a string. Returns the last position that it has read. */
  #scan(chunk: Buffer, byte: number, at: number): number {
    if (this.#inString) return this.#scanString(chunk, at)
    if (byte === LF || byte === CR) {
      if (byte === CR || !this.#afterCarriageReturn) this.#lineEnds += 1
      this.#afterCarriageReturn = byte === CR
      if (this.#lineEnds === 2 && this.#isWhole !== true) this.#settleEvent()
      return at
    }
    this.#afterCarriageReturn = false
    this.#lineEnds = 0
    this.#structure(byte)
    return at
  }

  #structure(byte: number): void {
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth += 1
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#depth -= 1
    else if (byte === QUOTE) {
      this.#inString = true
      this.#matched = 1
    }
  }

  #scanString(chunk: Buffer, from: number): number {
    let at = from
    for (; at < chunk.length; at++) {
      const byte = chunk[at]
      if (this.#matched > 0) this.#matched = byte === NEEDLE[this.#matched] ? this.#matched + 1 : 0
      if (this.#escaped) this.#escaped = false
      else if (byte === BACKSLASH) this.#escaped = true
      else if (byte === QUOTE) return this.#closeString(at)
    }
    return at - 1
  }

  #closeString(at: number): number {
    this.#inString = false
    // A `usage` key inside the object that is being read is part of that object.
    if (this.#matched === NEEDLE.length && this.#object === null) this.#expectValue()
    this.#matched = 0
    return at
  }

  /** Keeps bytes of the object that is being read. */
  #keep(chunk: Buffer, from: number, end: number): void {
    if (this.#object === null) return
    // `#object` starts with the opening brace, so only the bytes after it are added.
    const text = this.#object + chunk.toString('latin1', from, end)
    this.#object = text.length > MAX_OBJECT_BYTES ? null : text
  }

  /** Takes the object whose last byte is at `last`. */
  #close(chunk: Buffer, from: number, last: number): void {
    this.#keep(chunk, from, last + 1)
    if (this.#object !== null) this.#candidates.push({ text: this.#object, depth: this.#depth })
    if (this.#candidates.length > MAX_CANDIDATES) this.#candidates.shift()
    this.#object = null
  }

  /** Called at the end of an event, when the depth of its objects is known: keeps the numbers that count. */
  #settleEvent(): void {
    const end = this.#depth
    const counted = this.#candidates.filter(({ depth }) => depth - end >= 1 && depth - end <= MAX_DEPTH)
    for (const { text } of counted) this.#counts = withLaterReport(this.#counts ?? {}, toCounts(parseUsage(text)))
    if (counted.length > 0) this.#unreportedBytes = 0
    this.#state = 'seek'
    this.#matched = 0
    this.#depth = 0
    this.#candidates = []
    this.#object = null
    this.#inString = false
  }
}

const DATA = Buffer.from('data:')
const MARK = Buffer.from('\ufeff')

/** Whether an answer starts as JSON, and is no stream. Null: only spaces and a byte order mark have come so far. */
export function startsJson(chunk: Buffer): boolean | null {
  const first = chunk.find(
    (byte) => byte !== SPACE && byte !== LF && byte !== CR && byte !== TAB && !MARK.includes(byte),
  )
  return first === undefined ? null : first === OPEN_OBJECT
}

/** The number of bytes at the end of a chunk that are the beginning of the needle. */
function beginsAtEnd(chunk: Buffer, from: number): number {
  for (let at = Math.max(from, chunk.length - NEEDLE_TAIL.length); at < chunk.length; at++) {
    if (chunk[at] === QUOTE && chunk.compare(NEEDLE, 0, chunk.length - at, at) === 0) return chunk.length - at
  }
  return 0
}

/** Parses an object whose lines may be those of an event. */
function parseUsage(text: string): unknown {
  return parseJson(text.includes('data:') ? text.replaceAll(/^data: ?/gm, '') : text)
}
