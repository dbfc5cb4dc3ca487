import { cleanName } from '../../kernel/formats/clean-name.ts'

/** The name of a device that reported nothing. */
export const UNNAMED_DEVICE = 'Unnamed device'

/** Who says that a device has this name, for people who decide whether to trust it. */
export function sourceOfDeviceName(name: string): string {
  return name === UNNAMED_DEVICE ? 'the device reported no name' : 'reported by the device'
}

/** The first of these texts that is a name once it is cleaned; `UNNAMED_DEVICE` when none is. */
export function chooseDeviceName(reported: readonly (string | null | undefined)[]): string {
  for (const text of reported) {
    const name = text && cleanName(text)
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
