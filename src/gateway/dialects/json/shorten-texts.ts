/**
 * Cuts the long texts of a JSON document, so that it can be parsed in a fraction of the time. Large bodies often have
 * images and files in base64, which only pass through this service. V8 would copy each of them, and for a string of
 * more than 128 KB it takes fresh memory from the kernel, which costs more than parsing.
 */

/** Shorter stretches of a text are not worth cutting. */
const MIN_STRETCH_BYTES = 2048
/**
 * The first bytes of a stretch stay. An escape that began before the stretch ends in them, and this service looks for
 * shorter marks and formats at the start of a text.
 */
const KEPT_BYTES = 128

/** Stands for what was cut (DEL). JSON allows it in texts and nowhere else, and clients hardly ever send it. */
const CUT_MARK = '\x7f'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Returns a JSON document as Latin-1, with long stretches of plain characters cut out of its texts; null when it has
 * none. The bytes must be valid UTF-8.
 *
 * A plain character is no quote, no backslash and no control character. It cannot end a text, and every parser accepts
 * it in one. So when the result is JSON, the document is JSON of the same structure, for every parser. When the result
 * is not JSON, the document may still be: stretches are also cut outside of texts, for example in a list of numbers.
 */
export function shortenTexts(bytes: Buffer): string | null {
  let shortened = ''
  let taken = 0
  let quote = -1
  let backslash = -1
  // A search starts where the one before has ended, so all of them together read the document once.
  for (let at = 0; at < bytes.length; at = Math.max(at + MIN_STRETCH_BYTES, Math.min(quote, backslash) + 1)) {
    if (quote < at) quote = indexOrEnd(bytes, QUOTE, at)
    if (backslash < at) backslash = indexOrEnd(bytes, BACKSLASH, at)
    const end = Math.min(quote, backslash)
    if (end - at < MIN_STRETCH_BYTES) continue
    const words = wordsIn(bytes, at + KEPT_BYTES, end)
    if (hasControlCharacter(words)) continue
    const start = words.byteOffset - bytes.byteOffset
    shortened += bytes.toString('latin1', taken, start) + CUT_MARK
    taken = start + words.byteLength
  }
  return taken === 0 ? null : shortened + bytes.toString('latin1', taken)
}

function indexOrEnd(bytes: Buffer, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from)
  return found === -1 ? bytes.length : found
}

const WORD_BYTES = Int32Array.BYTES_PER_ELEMENT

/** The aligned words of four bytes in a range. */
function wordsIn({ buffer, byteOffset }: Buffer, start: number, end: number): Int32Array {
  const first = Math.ceil((byteOffset + start) / WORD_BYTES)
  const behind = Math.floor((byteOffset + end) / WORD_BYTES)
  return new Int32Array(buffer, first * WORD_BYTES, behind - first)
}

/**
 * Whether one of the bytes is below 0x20. Subtracting 0x20 sets the highest bit of such a byte, and of bytes that had
 * it before ("Bit Twiddling Hacks", "Determine if a word has a byte less than n"). V8 compiles this loop to fast code
 * only when it reads the length once, and when nothing is computed behind the loop.
 */
function hasControlCharacter(words: Int32Array): boolean {
  const { length } = words
  for (let at = 0; at < length; at++) {
    const word = words[at] ?? 0
    if (((word - 0x20202020) & ~word & HIGHEST_BITS) !== 0) return true
  }
  return false
}

/** The highest bit of each byte, as a signed number, which V8 handles faster. */
const HIGHEST_BITS = 0x80808080 | 0
