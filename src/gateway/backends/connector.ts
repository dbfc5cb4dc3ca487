import type { LookupFunction, Socket } from 'node:net'
import type { buildConnector as Connectors } from 'undici'
import buildConnector from 'undici/lib/core/connect.js'
import { codeOf } from '../../kernel/error-code.ts'
import type { OutboundProxy } from '../../kernel/network/outbound-proxy.ts'

/** How connections are made. */
export type ConnectSettings = {
  readonly connectTimeoutMs: number
  /** Looks up the name of the host at each connect. A proxy looks up names itself. */
  readonly lookup: LookupFunction
  /** Null: every connection is direct. */
  readonly outboundProxy: OutboundProxy | null
}

type OpenTunnel = (onEnd: Connectors.Callback) => void

/** Makes a function that connects to the host of this URL, with TLS where the URL has it. */
export function makeConnector(
  url: URL,
  { lookup, connectTimeoutMs, outboundProxy }: ConnectSettings,
): Connectors.connector {
  const connect = buildConnector({ lookup, timeout: connectTimeoutMs, allowH2: false })
  if (!outboundProxy?.isFor(url)) return connect
  const openTunnel = makeOpenTunnel(outboundProxy, url, connectTimeoutMs)
  return (options, callback) => {
    openTunnel((error, httpSocket) => {
      if (httpSocket) connect({ ...options, httpSocket }, callback)
      else callback(error, null)
    })
  }
}

/** Makes a function that asks a proxy for a tunnel to an https address (RFC 9110, section 9.3.6). */
function makeOpenTunnel(proxy: OutboundProxy, { hostname, port }: URL, timeout: number): OpenTunnel {
  const path = `${hostname}:${port || 443}`
  const authorization = proxy.authorization && { 'proxy-authorization': proxy.authorization.reveal() }
  const options = { method: 'CONNECT', path, headers: { host: path, ...authorization }, agent: false }
  // Not imported, see src/http/node-http.ts.
  const { request } = process.getBuiltinModule(proxy.origin.startsWith('https:') ? 'node:https' : 'node:http')
  return (onEnd) => {
    const asked = request(proxy.origin, options)
    // The request's own timeout would start again with each byte of the answer.
    const deadline = setTimeout(
      () => asked.destroy(Object.assign(new Error('No answer.'), { code: 'TIMEOUT' })),
      timeout,
    )
    asked.on('connect', ({ statusCode }, socket: Socket) => {
      clearTimeout(deadline)
      if (statusCode === 200) return onEnd(null, socket)
      socket.destroy()
      onEnd(toProxyProblem(`STATUS_${statusCode}`), null)
    })
    asked.on('error', (error) => {
      clearTimeout(deadline)
      onEnd(toProxyProblem(codeOf(error) ?? error.name, error), null)
    })
    asked.end()
  }
}

/** `reason` is a word for the log. */
function toProxyProblem(reason: string, cause?: Error): NodeJS.ErrnoException {
  const error = new Error('The outbound proxy has opened no tunnel to the backend.', { cause })
  return Object.assign(error, { code: `PROXY_${reason}` })
}
