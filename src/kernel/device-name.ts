/** Characters of a device name, by code point. */
export const DEVICE_NAME_LENGTH = 64

/**
 * A device's own name as it may be stored and shown: NFC, on one line, at most 64 code points, without control characters
 * and without anything that is invisible or turns the direction of writing (UAX #9, UTR #36 section 2.5).
 * Null when nothing is left of it, and when it contains NUL, which no honest client sends and Postgres cannot store.
 */
export function cleanDeviceName(raw: string): string | null {
  if (raw.includes('\0')) return null
  // Line breaks are controls too, but they part words: they become spaces before the other controls go.
  const visible = raw
    .toWellFormed()
    .replace(UNSEEN, '')
    .replace(/\s/g, ' ')
    .replace(/\p{Cc}/gu, '')
  return shorten(visible.normalize('NFC').replace(/ +/g, ' ').trim()) || null
}

// Format characters, such as bidi controls, zero-width characters and tags (Cf), and what else is drawn as nothing at all,
// such as Hangul fillers. Braille blank is a symbol by its class and empty by its looks.
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu

function shorten(text: string): string {
  return Array.from(text).slice(0, DEVICE_NAME_LENGTH).join('').trim()
}
