/**
 * Reads the token usage of a model call from the bytes of its answer as they pass. Only the small object behind a
 * `"usage"` key is kept, and only until its event is over. Until such a key passes, a chunk costs one native search.
 *
 * Which object counts depends on its depth: `usage` is a member of the JSON answer or of the event, or of the `message`
 * or `response` inside the event. The arguments of a tool call or the schema of a tool may have a `usage` too, but
 * deeper. The depth is counted backwards: every bracket that closes between the object and the end of its event was
 * open around it.
 */
import { isObject } from './json/read-json.ts'
import type { Json } from './json/read-json.ts'

/** Tokens of one call; null where the answer did not say. */
export type Usage = {
  /** All that went in, those from a cache included. */
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  /** The part of the input that came from a cache. */
  readonly cachedTokens: number | null
}

export const NO_USAGE: Usage = { inputTokens: null, outputTokens: null, cachedTokens: null }

export type UsageScanner = {
  /** Sees bytes of the answer, cut anywhere. Keeps no reference to them. */
  push(chunk: Buffer): void
  /** The usage that the answer reported last: streams repeat it with growing numbers. */
  end(): Usage
}

/**
 * A scanner for one answer, whole or a stream, of any dialect: the names of the numbers tell which. Chat completions
 * and responses count cached tokens in the input; messages counts them beside it, at the start and again at the end of
 * a stream.
 */
export function scanUsage(): UsageScanner {
  return new Scanning()
}

const NEEDLE = Buffer.from('"usage"')
/**
 * The part that is searched for. JSON is full of quotes, and a search that begins with a rare byte is ten times as
 * fast.
 */
const RARE = NEEDLE.subarray(1)
/** Real usage objects have a few hundred bytes. */
const MAX_OBJECT_BYTES = 8 * 1024
/** A tool's schema may have several of its own. */
const MAX_CANDIDATES = 16
/** The most that a 32-bit column holds. A larger number cannot be right. */
const MAX_TOKENS = 0x7fff_ffff
/** The answer itself, or the `message` or `response` of an event. */
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

/** `seek`: nothing yet; `key`: behind the key, before its value; `scan`: behind an object, until the event ends. */
type State = 'seek' | 'key' | 'value' | 'scan'

type Candidate = { readonly text: string; readonly depth: number }

/** The numbers by the names that the dialects give them. */
type Counts = Record<string, number>

/** A class, because thousands of these are open at once. */
class Scanning implements UsageScanner {
  #state: State = 'seek'
  /** How many bytes of the needle the last chunk, or the string that is open, has matched. */
  #matched = 0
  /** Relative to the first object of this event; only differences count. */
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
  /** JSON and not a stream: blank lines end nothing there. */
  #isWhole: boolean | null = null

  push(chunk: Buffer): void {
    this.#isWhole ??= startsJson(chunk)
    let at = 0
    while (at < chunk.length) at = this.#state === 'seek' ? this.#seek(chunk, at) : this.#walk(chunk, at)
  }

  end(): Usage {
    this.#settleEvent()
    return this.#counts ? toUsage(this.#counts) : NO_USAGE
  }

  /** Returns the position to go on from. */
  #seek(chunk: Buffer, from: number): number {
    if (this.#matched > 0) {
      const rest = NEEDLE.subarray(this.#matched, this.#matched + chunk.length - from)
      const goesOn = chunk.compare(rest, 0, rest.length, from, from + rest.length) === 0
      this.#matched = goesOn ? this.#matched + rest.length : 0
      if (goesOn && this.#matched === NEEDLE.length) this.#expectValue()
      return goesOn ? from + rest.length : from
    }
    for (let found = chunk.indexOf(RARE, from); found !== -1; found = chunk.indexOf(RARE, found + 1)) {
      if (found === from || chunk[found - 1] !== QUOTE) continue
      this.#expectValue()
      return found + RARE.length
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

  /** Byte by byte, only from a `"usage"` key to where it cannot matter any more. Returns where to go on. */
  #walk(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (this.#state === 'scan') {
        const start = at
        at = this.#scan(chunk, byte, at)
        if (this.#object !== null) this.#keep(chunk, start, at)
      } else this.#expect(byte)
      if (this.#state === 'seek') return at + 1
    }
    return chunk.length
  }

  /** Between a key and its value. An event may spread over several `data:` lines, between any two tokens. */
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

  /** The value is no object: nothing to read here. */
  #leave(byte: number): void {
    const hasBegun = this.#candidates.length > 0
    this.#state = hasBegun ? 'scan' : 'seek'
    if (hasBegun) this.#structure(byte)
  }

  /** One byte, or a run of string bytes. Returns the last place that it has read. */
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
    // Inside an object that is read, another `usage` is part of it.
    if (this.#matched === NEEDLE.length && this.#object === null) this.#expectValue()
    this.#matched = 0
    return at
  }

  /** Keeps the bytes of the object that is being read, until it closes. */
  #keep(chunk: Buffer, from: number, last: number): void {
    // The byte that opened it is kept already, and nothing follows it in this step.
    const text = (this.#object ?? '') + chunk.toString('latin1', from, last + 1)
    this.#object = text.length > MAX_OBJECT_BYTES ? null : text
    if (this.#depth === this.#objectDepth) {
      this.#candidates.push({ text, depth: this.#depth })
      if (this.#candidates.length > MAX_CANDIDATES) this.#candidates.shift()
      this.#object = null
    }
  }

  /** The event is over, so its depth is known. */
  #settleEvent(): void {
    const end = this.#depth
    const counted = this.#candidates.filter(({ depth }) => depth - end >= 1 && depth - end <= MAX_DEPTH)
    for (const { text } of counted) this.#counts = { ...this.#counts, ...toCounts(text) }
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

/** Null: nothing but spaces and a byte order mark so far. */
function startsJson(chunk: Buffer): boolean | null {
  const first = chunk.find(
    (byte) => byte !== SPACE && byte !== LF && byte !== CR && byte !== TAB && !MARK.includes(byte),
  )
  return first === undefined ? null : first === OPEN_OBJECT
}

/** How many bytes at the end of a chunk are the beginning of the needle. */
function beginsAtEnd(chunk: Buffer, from: number): number {
  for (let at = Math.max(from, chunk.length - RARE.length); at < chunk.length; at++) {
    if (chunk[at] === QUOTE && chunk.compare(NEEDLE, 0, chunk.length - at, at) === 0) return chunk.length - at
  }
  return 0
}

/** The numbers of a usage object, those one level down by both names; none when it cannot be read. */
function toCounts(text: string): Counts {
  const counts: Counts = {}
  const members = parseObject(text)
  for (const name in members) {
    const value = members[name]
    if (isCount(value)) counts[name] = value
    else if (isObject(value))
      for (const inner in value) if (isCount(value[inner])) counts[`${name}.${inner}`] = value[inner]
  }
  return counts
}

function parseObject(text: string): Json {
  try {
    const value: unknown = JSON.parse(text.includes('data:') ? text.replaceAll(/[\r\n]+data: ?/g, '') : text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS
}

function toUsage(counts: Counts): Usage {
  const { prompt_tokens: prompt, completion_tokens: completion, input_tokens: input, output_tokens: output } = counts
  const cached = counts['prompt_tokens_details.cached_tokens'] ?? counts['input_tokens_details.cached_tokens']
  // Some chat servers name these too, but count them in.
  const isBeside = prompt === undefined && cached === undefined
  const beside = isBeside ? sum(counts['cache_creation_input_tokens'], counts['cache_read_input_tokens']) : null
  return {
    inputTokens: sum(prompt ?? input ?? null, beside),
    outputTokens: completion ?? output ?? null,
    cachedTokens: cached ?? counts['cache_read_input_tokens'] ?? null,
  }
}

/** Of what is there; null where nothing is. */
function sum(a: number | null | undefined, b: number | null | undefined): number | null {
  return a == null && b == null ? null : (a ?? 0) + (b ?? 0)
}
