import { isIP } from 'node:net'

/**
 * Reads the IP address of a text that may have a port, brackets (`[2001:db8::1]:443`) or a zone (`fe80::1%eth0`), which
 * are dropped. Null when there is no address: a header can contain any text, and the address is shown to people.
 */
export function readIpAddress(text: string | undefined): string | null {
  const [, bracketed, beforePort] = /^\[([^\]]*)\](?::\d+)?$|^([^:]*):\d+$/.exec(text ?? '') ?? []
  const [address = ''] = (bracketed ?? beforePort ?? text ?? '').split('%')
  return isIP(address) ? address : null
}
