import { createHash } from 'node:crypto'
import { networkOf } from '../../kernel/network/ip-address.ts'

/** /24 and /48: what one site usually has. */
const NETWORK = { ipv4Numbers: 3, ipv6Groups: 3 }

/** Identifies a client on its network: a hash of the user agent and the /24 (IPv4) or /48 (IPv6) of the address. */
export function fingerprintOf(userAgent: string, ip: string): string {
  return createHash('sha256')
    .update(`${networkOf(ip, NETWORK)} ${userAgent}`)
    .digest('base64url')
}
