import { domainToASCII } from 'node:url'

/**
 * The dot-string form of RFC 5321, section 4.1.2: no quotes, commas, angle brackets, white space or control characters.
 */
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
/** A domain name (RFC 1123, section 2.1) or a single label such as `localhost`. */
const DOMAIN = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/

/**
 * Normalizes an email address to the form under which accounts are stored: trimmed, NFC, lower case, domain in ASCII
 * (RFC 5891), at most 254 characters (RFC 5321, section 4.5.3.1.3, without the angle brackets). Null when the text is
 * not a plain address. Use it for look-ups; email is sent to the stored address only.
 */
export function toEmail(text: string): string | null {
  const parts = text.trim().split('@')
  // The local part is checked before normalization: NFC turns the Kelvin sign into the ASCII letter K.
  const [local = '', domain = ''] = parts
  if (parts.length !== 2 || local.length > 64 || !LOCAL_PART.test(local)) return null

  const ascii = toDomain(domain)
  const email = `${local.toLowerCase()}@${ascii}`
  return ascii !== null && email.length <= 254 ? email : null
}

/**
 * Accepts letters, digits, hyphens and dots only. A URL parser repairs or drops the rest (percent escapes, ports,
 * full-width characters that fold to ASCII), and then two different texts would name the same account.
 */
function toDomain(text: string): string | null {
  const composed = text.normalize('NFC')
  if (!/^[\p{L}\p{M}\p{N}.-]+$/u.test(text) || text.includes('\u212a')) return null
  if (composed !== text.normalize('NFKC')) return null

  const ascii = domainToASCII(composed.toLowerCase())
  return DOMAIN.test(ascii) && ascii.length <= 253 ? ascii : null
}
