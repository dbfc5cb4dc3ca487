import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'

/** Recognises the same client on the same network: a hash of its user agent and its /24 (IPv4) or /48 (IPv6). */
export function fingerprintOf(userAgent: string, ip: string): string {
  return createHash('sha256')
    .update(`${networkOf(ip)} ${userAgent}`)
    .digest('base64url')
}

function networkOf(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1] ?? ip
  if (!isIPv6(mapped)) return mapped.split('.').slice(0, 3).join('.')
  const [head = '', tail] = mapped.split('::')
  const groups = head.split(':').filter(Boolean)
  const zeros = tail === undefined ? [] : Array.from({ length: 3 }, () => '0')
  return [...groups, ...zeros].slice(0, 3).join(':')
}
