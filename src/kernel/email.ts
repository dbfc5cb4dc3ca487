import { domainToASCII } from 'node:url'

/** RFC 5321 4.1.2, dot-string form: quotes, commas, angles, white space and controls are not in it. */
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
/** RFC 1123 2.1, at least two labels or a host such as `localhost`. */
const DOMAIN = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/

/**
 * The one form of an address under which an account is known: trimmed, NFC, lower case, domain in ASCII (RFC 5891), at
 * most 254 characters (RFC 5321 4.5.3.1.3 less its angles). Null when the text is not a plain address. It is for looking
 * up: mail goes to the stored address only.
 */
export function toEmail(text: string): string | null {
  const parts = text.trim().split('@')
  // The local part is judged as it was typed: NFC makes an ASCII letter of the Kelvin sign.
  const [local = '', domain = ''] = parts
  if (parts.length !== 2 || local.length > 64 || !LOCAL_PART.test(local)) return null

  const ascii = toDomain(domain)
  const email = `${local.toLowerCase()}@${ascii}`
  return ascii !== null && email.length <= 254 ? email : null
}

/**
 * Only letters, digits, hyphens and dots may go in: what a URL parser repairs or drops (percent escapes, ports, full-width
 * forms that fold into ASCII) would let two different texts name one account.
 */
function toDomain(text: string): string | null {
  const composed = text.normalize('NFC')
  if (!/^[\p{L}\p{M}\p{N}.-]+$/u.test(text) || text.includes('\u212a')) return null
  if (composed !== text.normalize('NFKC')) return null

  const ascii = domainToASCII(composed.toLowerCase())
  return DOMAIN.test(ascii) && ascii.length <= 253 ? ascii : null
}
