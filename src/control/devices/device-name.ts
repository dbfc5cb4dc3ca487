/** The longest device name, in code points. */
const DEVICE_NAME_LENGTH = 64

/**
 * Cleans a device name so that it can be stored and shown: NFC, one line, at most 64 code points, no control
 * characters, and no characters that are invisible or change the writing direction (UAX #9, UTR #36 section 2.5). Null
 * when nothing is left, and when the name contains NUL, which Postgres cannot store.
 */
export function cleanDeviceName(raw: string): string | null {
  if (raw.includes('\0')) return null
  // Line breaks are control characters that separate words: they become spaces before the others are removed.
  const visible = raw
    .toWellFormed()
    .replace(INVISIBLE, '')
    .replace(/\s/g, ' ')
    .replace(/\p{Cc}/gu, '')
  return shorten(visible.normalize('NFC').replace(/ +/g, ' ').trim()) || null
}

/** The name of a device that reported nothing. */
export const UNNAMED_DEVICE = 'Unnamed device'

/** Who says that a device has this name, for people who decide whether to trust it. */
export function sourceOfDeviceName(name: string): string {
  return name === UNNAMED_DEVICE ? 'the device reported no name' : 'reported by the device'
}

/** The first of these texts that is a name once it is cleaned; `UNNAMED_DEVICE` when none is. */
export function chooseDeviceName(reported: readonly (string | null | undefined)[]): string {
  for (const text of reported) {
    const name = text && cleanDeviceName(text)
    if (name) return name
  }
  return UNNAMED_DEVICE
}

/**
 * A device name from a `User-Agent` (RFC 9110, section 10.1.5): browser and system, such as `Firefox on Windows`, or
 * the program's name without its version. Null when there is neither.
 */
export function readUserAgentName(userAgent: string): string | null {
  if (!userAgent.startsWith('Mozilla/')) return /^[\w!#$%&'*+.^`|~-]+/.exec(userAgent)?.[0] ?? null
  const browser = BROWSERS.find(([token]) => userAgent.includes(token))?.[1] ?? 'Browser'
  const system = SYSTEMS.find(([token]) => userAgent.includes(token))?.[1]
  return system ? `${browser} on ${system}` : browser
}

// In this order, because browsers also send the tokens of those that they descend from.
const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['FxiOS/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['CriOS/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const
const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Macintosh', 'Mac'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

// Format characters (Cf: bidi controls, zero-width characters, tags), other characters that are not drawn, such as
// Hangul fillers, and U+2800 (Braille blank), which Unicode classifies as a symbol although it looks empty.
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu

function shorten(text: string): string {
  return Array.from(text).slice(0, DEVICE_NAME_LENGTH).join('').trim()
}
