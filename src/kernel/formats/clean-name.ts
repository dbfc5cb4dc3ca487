/** The longest name, in code points. */
const MAX_LENGTH = 64

/**
 * Cleans a name that somebody chose, such as that of a device or an API key, so that it can be stored and shown: NFC,
 * one line, at most 64 code points, no control characters, and no characters that are invisible or change the writing
 * direction (UAX #9, UTR #36 section 2.5). Null when nothing is left, and when the name contains NUL, which Postgres
 * cannot store.
 */
export function cleanName(raw: string): string | null {
  if (raw.includes('\0')) return null
  // Line breaks are control characters that separate words: they become spaces before the others are removed.
  const visible = raw
    .toWellFormed()
    .replace(INVISIBLE, '')
    .replace(/\s/g, ' ')
    .replace(/\p{Cc}/gu, '')
  return shorten(visible.normalize('NFC').replace(/ +/g, ' ').trim()) || null
}

// Format characters (Cf: bidi controls, zero-width characters, tags), other characters that are not drawn, such as
// Hangul fillers, and U+2800 (Braille blank), which Unicode classifies as a symbol although it looks empty.
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu

function shorten(text: string): string {
  return Array.from(text).slice(0, MAX_LENGTH).join('').trim()
}
