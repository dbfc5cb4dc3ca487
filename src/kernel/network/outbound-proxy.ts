/** The standard variables for a proxy that outgoing requests go through, as Node.js reads them for its own `fetch`. */
import type { Secret } from '../secret.ts'

/** A proxy that opens tunnels (RFC 9110, section 9.3.6). */
export type OutboundProxy = {
  /** `http://HOST:PORT` or `https://HOST:PORT`. */
  readonly origin: string
  /** The value of `Proxy-Authorization`; null: none. */
  readonly authorization: Secret | null
  /** Whether connections to this URL go through the proxy. */
  isFor(url: URL): boolean
}

type Variables = Readonly<Record<string, string | undefined>>

/**
 * The variable with the proxy that Node.js uses for a URL, unless `NO_PROXY` names the host; null: it uses none. The
 * proxy for http is used for https too where that has none.
 */
export function findProxyVariable({ protocol }: Pick<URL, 'protocol'>, variables: Variables): string | null {
  if (variables['NODE_USE_ENV_PROXY'] !== '1') return null
  const ofHttps = protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : []
  return [...ofHttps, 'http_proxy', 'HTTP_PROXY'].find((name) => variables[name]) ?? null
}

/** Says that a proxy is set, but that Node.js does not use it; null when that is not so. */
export function explainUnusedProxy(variables: Variables): string | null {
  const name = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].find((each) => variables[each])
  // Node.js takes no other value for a yes.
  if (name === undefined || variables['NODE_USE_ENV_PROXY'] === '1') return null
  return `${name} is set, but svc does not use it. Set NODE_USE_ENV_PROXY=1 (Node.js 22.21 or newer) to use it.`
}
