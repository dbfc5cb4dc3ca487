/**
 * The standard variables of a proxy for outgoing connections. Node.js reads them for its own HTTP clients. Backends are
 * called by another client, so they are read here for it.
 */
import { withoutBrackets } from '../kernel/network/ip-address.ts'
import { findProxyVariable } from '../kernel/network/outbound-proxy.ts'
import type { OutboundProxy } from '../kernel/network/outbound-proxy.ts'
import { Secret } from '../kernel/secret.ts'
import { hasScheme } from './fields.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A name of `NO_PROXY`. */
type Exemption = {
  readonly host: string
  /** Null: every port. */
  readonly port: string | null
  /** Whether it is only for the subdomains of the host. */
  readonly isWildcard: boolean
}

/** The proxy for connections to https addresses; null: none. Mistakes start with the name of their variable. */
export function readOutboundProxy(env: Environment): {
  readonly outboundProxy: OutboundProxy | null
  readonly mistakes: readonly string[]
} {
  const name = findProxyVariable({ protocol: 'https:' }, env)
  if (name === null) return { outboundProxy: null, mistakes: [] }
  const value = env[name] ?? ''
  if (!hasScheme(value, ['http:', 'https:'])) {
    return { outboundProxy: null, mistakes: [`${name}: must be http://HOST:PORT or https://HOST:PORT`] }
  }
  const url = new URL(value)
  const exemptions = (env['no_proxy'] || env['NO_PROXY'] || '').split(/[\s,]+/).map(toExemption)
  return {
    outboundProxy: {
      origin: url.origin,
      authorization: toAuthorization(url),
      isFor: (target) => target.protocol === 'https:' && !exemptions.some((one) => isExempt(target, one)),
    },
    mistakes: [],
  }
}

function toAuthorization({ username, password }: URL): Secret | null {
  if (!username && !password) return null
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return new Secret(`Basic ${Buffer.from(credentials).toString('base64')}`)
}

/** An IPv6 address with a port is in brackets. */
function toExemption(entry: string): Exemption {
  const [, named, port] = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry) ?? [null, entry, null]
  const host = withoutBrackets(named)
    .replace(/^\*?\./, '')
    .replace(/\.$/, '')
    .toLowerCase()
  return { host, port, isWildcard: entry.startsWith('*.') }
}

/** As `fetch` of Node.js decides it: a name is also for its subdomains. */
function isExempt(target: URL, { host, port, isWildcard }: Exemption): boolean {
  if (port !== null && port !== (target.port || '443')) return false
  const asked = withoutBrackets(target.hostname).replace(/\.$/, '')
  return host === '*' || (!isWildcard && asked === host) || asked.endsWith(`.${host}`)
}
