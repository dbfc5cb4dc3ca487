/**
 * The hosts that an operator lets admins of teams send calls to. A list such as
 * `api.vendor.example, *.models.example, engine.internal:8443, 10.20.0.0/16` has host names, all names below a domain,
 * and addresses or ranges of addresses. A name must resolve to a public address or to one that is listed, because every
 * host can choose the addresses of its own name. An address is listed for one port, a range for the ports of all names.
 */
import { BlockList, isIP } from 'node:net'
import { withoutBrackets } from './ip-address.ts'

export type AllowedHosts = {
  /** The list as it was given, without its ranges of addresses, for people. */
  readonly names: readonly string[]
  /** Whether the host and the port of an https:// URL are listed. */
  allowsUrl(url: URL): boolean
  /**
   * Whether a connection to an address may be made that the name of a listed host has resolved to. `port`: that of the
   * URL, which is empty for the default one.
   */
  allowsAddress(address: string, port: string): boolean
}

/** A listed host: `suffix` begins with a dot. `port` is empty for the default one, as in a URL. */
type Listed = { readonly host: string; readonly port: string } | { readonly suffix: string; readonly port: string }

/** Reads the list; null when an entry is neither a host nor a range of addresses. */
export function readAllowedHosts(text: string): AllowedHosts | null {
  const entries = text.split(',').map((entry) => entry.trim())
  const ranges = new BlockList()
  const addresses = new Set<string>()
  const listed: Listed[] = []
  for (const entry of entries) {
    if (addRange(ranges, entry)) continue
    const host = readHost(entry)
    if (!host) return null
    listed.push(host)
    if ('host' in host) addresses.add(toAddressKey(host.host, host.port))
  }
  return {
    names: entries.filter((entry) => readHost(entry) !== null),
    allowsUrl(url) {
      const address = withoutBrackets(url.hostname)
      const isInRange = isIP(address) !== 0 && url.port === '' && contains(ranges, address)
      return url.protocol === 'https:' && (isInRange || listed.some((one) => matches(one, url)))
    },
    allowsAddress: (address, port) =>
      isPublicAddress(address) || contains(ranges, address) || addresses.has(toAddressKey(address, port)),
  }
}

function readHost(entry: string): Listed | null {
  const [, wildcard, rest = ''] = /^(\*\.)?(.+)$/.exec(entry) ?? []
  const [, given = ''] = /^([a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*\.?|\[[0-9a-fA-F:.]+\])(?::\d+)?$/.exec(rest) ?? []
  if (given === '' || !URL.canParse(`https://${rest}`)) return null
  const { hostname, port } = new URL(`https://${rest}`)
  const isName = isIP(withoutBrackets(hostname)) === 0
  // A URL reads `10.0.0` as the address 10.0.0.0, and `010.0.0.1` as 8.0.0.1, which is not what was meant.
  if (!isName && isIP(withoutBrackets(given)) === 0) return null
  if (!wildcard) return { host: hostname, port }
  return isName ? { suffix: `.${hostname}`, port } : null
}

function matches(listed: Listed, { hostname, port }: URL): boolean {
  if (port !== listed.port) return false
  return 'host' in listed ? hostname === listed.host : hostname.endsWith(listed.suffix)
}

/** Adds `ADDRESS/BITS`; false when the text does not have that form. */
function addRange(ranges: BlockList, text: string): boolean {
  const [, address = '', bits = ''] = /^([0-9a-fA-F:.]+)\/(\d{1,3})$/.exec(text) ?? []
  const version = isIP(address)
  if (version === 0 || Number(bits) > (version === 4 ? 32 : 128)) return false
  ranges.addSubnet(address, Number(bits), version === 4 ? 'ipv4' : 'ipv6')
  return true
}

function contains(ranges: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && ranges.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

function toAddressKey(host: string, port: string): string {
  return `${withoutBrackets(host)} ${port}`
}

/** The IPv4 addresses that are not on the public internet (IANA special-purpose registry), and multicast. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Link-local, with the metadata services of most clouds.
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Azure's metadata and agents, at a public address.
  '168.63.129.16/32',
]

/** Ranges inside 2000::/3 that are not public: for documentation, for protocols, and with an IPv4 address inside. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const SPECIAL = toRanges([...SPECIAL_IPV4, ...SPECIAL_IPV6])
const GLOBAL_IPV6 = toRanges(['2000::/3'])

function toRanges(list: readonly string[]): BlockList {
  const ranges = new BlockList()
  for (const entry of list) addRange(ranges, entry)
  return ranges
}

/** Whether an address is on the public internet. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) is not. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 0 || contains(SPECIAL, address)) return false
  return version === 4 || contains(GLOBAL_IPV6, address)
}
