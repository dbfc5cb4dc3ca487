import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'

/** Identifies a client on its network: a hash of the user agent and the /24 (IPv4) or /48 (IPv6) of the address. */
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
