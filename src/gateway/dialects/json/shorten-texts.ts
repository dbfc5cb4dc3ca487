/**
 * Cuts the long texts of a JSON document, so that it can be parsed in a fraction of the time. Most of a large body is
 * texts that only pass through this service: source code, answers of tools, images in base64. V8 would decode and copy
 * each of them, and for a string of more than 128 KB it takes fresh memory from the kernel, which costs more than
 * parsing.
 */
import { skipSpace } from './edit-json.ts'
import type { ByteRange } from './edit-json.ts'
import { BLOCK_BYTES, BYTES_PER_WORD, markSpecialBytes } from './special-bytes.ts'

/** A JSON document whose long texts are cut. */
export type ShortenedJson = {
  /**
   * The document as Latin-1, one character for each byte that is left. A text that was cut ends with `CUT_MARK` and the
   * number of its cut.
   */
  readonly text: string
  /** The cuts, from the first to the last. */
  readonly cuts: readonly Cut[]
}

export type Cut = {
  /** The place of the mark in the shortened document. */
  readonly at: number
  /** How much shorter that is than the document, up to the end of this text. */
  readonly removed: number
  /** The text in the bytes of the document, with its quotes. */
  readonly range: ByteRange
}

/** Shorter texts are not worth cutting. */
const MIN_CUT_BYTES = 512
/** The first bytes of a text stay, because this service looks for shorter marks and formats at the start of a text. */
const KEPT_BYTES = 128

/** Stands for what was cut (DEL). JSON allows it in texts and nowhere else, and clients hardly ever send it. */
export const CUT_MARK = '\x7f'

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const LETTER_U = 0x75

/**
 * Cuts the texts of a JSON document that are longer than 512 bytes, but no names of members. The bytes must be valid
 * UTF-8. Null when a text of the document is not JSON: it has a control character, an unknown escape, or no end.
 *
 * Only texts without such mistakes are cut, and all bytes outside of texts stay. So the document is JSON when the
 * result is JSON, with the same structure for every parser.
 */
export function shortenTexts(bytes: Buffer): ShortenedJson | null {
  const texts = new TextReader(bytes)
  for (let from = 0; from < bytes.length; from += BLOCK_BYTES) {
    const words = markSpecialBytes(bytes, from)
    for (let word = 0; word < words.length; word++) {
      for (let marks = words[word] ?? 0; marks !== 0; marks &= marks - 1) {
        const lowest = 31 - Math.clz32(marks & -marks)
        if (!texts.see(from + word * BYTES_PER_WORD + lowest)) return null
      }
    }
  }
  return texts.end()
}

/** The position in the bytes of a document of a character of its shortened text. */
export function toByteOffset({ cuts }: ShortenedJson, at: number): number {
  return at + (cuts.findLast((cut) => cut.at < at)?.removed ?? 0)
}

const OUTSIDE = -1

/** Receives the special bytes of a document in their order, and cuts its long texts. */
class TextReader {
  readonly #bytes: Buffer
  readonly #cuts: Cut[] = []
  #shortened = ''
  /** The bytes before are in `#shortened`, or cut. */
  #taken = 0
  #removed = 0
  /** Where the open text starts, behind its quote. */
  #start = OUTSIDE
  /** Where the open text may be cut. Never within an escape. */
  #keptEnd = 0
  #escapeEnd = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Receives a quote, a backslash or a control character. False when it makes a text invalid. */
  see(at: number): boolean {
    if (at < this.#escapeEnd) return true
    const byte = this.#bytes[at]
    if (byte === QUOTE) this.#seeQuote(at)
    else if (this.#start !== OUTSIDE) return byte === BACKSLASH && this.#readEscape(at)
    return true
  }

  /** Null when the last text has no end. */
  end(): ShortenedJson | null {
    if (this.#start !== OUTSIDE) return null
    return { text: this.#shortened + this.#bytes.toString('latin1', this.#taken), cuts: this.#cuts }
  }

  #seeQuote(at: number): void {
    if (this.#start === OUTSIDE) {
      this.#start = at + 1
      this.#keptEnd = this.#start + KEPT_BYTES
    } else {
      if (at - this.#start > MIN_CUT_BYTES && !this.#isName(at)) this.#cut(at)
      this.#start = OUTSIDE
    }
  }

  #readEscape(at: number): boolean {
    const length = ESCAPE_BYTES[this.#bytes[at + 1] ?? 0]
    if (!length || (length === UNICODE_ESCAPE_BYTES && !this.#hasHexDigits(at + 2))) return false
    this.#escapeEnd = at + length
    if (at < this.#keptEnd) this.#keptEnd = Math.max(this.#keptEnd, this.#escapeEnd)
    return true
  }

  #hasHexDigits(from: number): boolean {
    for (let at = from; at < from + 4; at++) if (!isHexDigit(this.#bytes[at] ?? 0)) return false
    return true
  }

  #isName(quote: number): boolean {
    return this.#bytes[skipSpace(this.#bytes, quote + 1)] === COLON
  }

  #cut(end: number): void {
    const mark = `${CUT_MARK}${this.#cuts.length}`
    this.#shortened += this.#bytes.toString('latin1', this.#taken, this.#keptEnd)
    const at = this.#shortened.length
    this.#shortened += mark
    this.#taken = end
    this.#removed += end - this.#keptEnd - mark.length
    this.#cuts.push({ at, removed: this.#removed, range: { start: this.#start - 1, end: end + 1 } })
  }
}

const UNICODE_ESCAPE_BYTES = 6

/** The length of each escape by the byte behind its backslash; 0: there is no such escape (RFC 8259, section 7). */
const ESCAPE_BYTES = new Uint8Array(256)
for (const letter of Buffer.from('"\\/bfnrt')) ESCAPE_BYTES[letter] = 2
ESCAPE_BYTES[LETTER_U] = UNICODE_ESCAPE_BYTES

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20
  return (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66)
}
