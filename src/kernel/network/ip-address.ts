import { isIP, isIPv4, isIPv6 } from 'node:net'

/**
 * Reads the IP address of a text that may have a port, brackets (`[2001:db8::1]:443`) or a zone (`fe80::1%eth0`), which
 * are dropped. Null when there is no address: a header can contain any text, and the address is shown to people.
 */
export function readIpAddress(text: string | undefined): string | null {
  // Most texts are this, and it is read several times for every call.
  if (text !== undefined && isIPv4(text)) return text
  const [, bracketed, beforePort] = /^\[([^\]]*)\](?::\d+)?$|^([^:]*):\d+$/.exec(text ?? '') ?? []
  const [address = ''] = (bracketed ?? beforePort ?? text ?? '').split('%')
  return isIP(address) ? address : null
}

/** How much of an address names a network: the first numbers of an IPv4 address, or the first groups of an IPv6 one. */
export type NetworkSize = { readonly ipv4Numbers: number; readonly ipv6Groups: number }

/** The network of an address: `192.0.2` or `2001:db8:0`. An IPv4 address inside an IPv6 one counts as itself. */
export function networkOf(ip: string, { ipv4Numbers, ipv6Groups }: NetworkSize): string {
  const address = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1] ?? ip
  if (!isIPv6(address)) return address.split('.').slice(0, ipv4Numbers).join('.')
  const [head = '', tail] = address.split('::')
  const before = head.split(':').filter(Boolean)
  const after = (tail ?? '').split(':').filter(Boolean)
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].slice(0, ipv6Groups).join(':')
}

/** The host of a URL as an address or name: without the brackets that a URL has around an IPv6 address. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '')
}

/** Whether a host is this machine, which no other machine can reach under that name or address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
