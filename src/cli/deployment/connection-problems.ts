import { codeOf, UNTRUSTED_CERTIFICATE } from '../../kernel/error-code.ts'
import { explainUnusedProxy, findProxyVariable } from '../../kernel/network/outbound-proxy.ts'
import { VARIABLES } from '../environment.ts'

/** How long a deployment may take to answer anything but a model call. */
export const ANSWER_TIMEOUT_MS = 20_000

const TLS_HELP =
  'If your company signs its own certificates, set NODE_EXTRA_CA_CERTS to the file of its root certificate.'

/** What to check where no connection can be made. The network may require a proxy that is set, but not used. */
function networkAdvice(): string {
  const unusedProxy = explainUnusedProxy(VARIABLES)
  return `Check the URL and your network or VPN.${unusedProxy === null ? '' : ` ${unusedProxy}`}`
}

/** `proxy`: the variable with the proxy, which may be what does not answer. */
function explainNoConnection({ host }: URL, proxy: string | null): string {
  const who = proxy === null ? `${host} does not answer.` : `${host}, or the proxy of ${proxy}, does not answer.`
  return `${who} ${networkAdvice()}`
}

const explainNoRoute = ({ host }: URL) => `${host} cannot be reached from this network. ${networkAdvice()}`

const explainClosed = ({ host }: URL) =>
  `${host} closed the connection. Try again; if it stays like this, check whether its URL begins with http or https.`

const explainNoTls = ({ host }: URL) => `${host} does not speak TLS. Try the URL with http:// instead of https://.`

const explainUntrusted = ({ host }: URL) => `The TLS certificate of ${host} is not trusted here. ${TLS_HELP}`

/** Why there was no answer, and what to do, by the error code of Node.js. */
const CONNECTION_PROBLEMS: Readonly<Record<string, (url: URL, proxy: string | null) => string>> = {
  ECONNREFUSED: ({ host }) => `Nothing listens at ${host}. Check the URL, or start the service.`,
  ENOTFOUND: ({ hostname }) => `There is no host named ${hostname}. ${networkAdvice()}`,
  EAI_AGAIN: ({ hostname }) => `The name ${hostname} cannot be looked up now. ${networkAdvice()}`,
  ENETUNREACH: explainNoRoute,
  EHOSTUNREACH: explainNoRoute,
  ECONNRESET: explainClosed,
  UND_ERR_SOCKET: explainClosed,
  UND_ERR_CONNECT_TIMEOUT: explainNoConnection,
  ETIMEDOUT: explainNoConnection,
  CERT_HAS_EXPIRED: ({ host }) => `The TLS certificate of ${host} has expired, or the clock of this machine is wrong.`,
  CERT_NOT_YET_VALID: ({ host }) =>
    `The TLS certificate of ${host} is not valid yet: the clock of this machine is wrong.`,
  ERR_TLS_CERT_ALTNAME_INVALID: ({ host }) => `The TLS certificate of ${host} is for another name. Check the URL.`,
  ERR_SSL_WRONG_VERSION_NUMBER: explainNoTls,
  EPROTO: explainNoTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: explainNoTls,
  ...Object.fromEntries(UNTRUSTED_CERTIFICATE.map((code) => [code, explainUntrusted])),
}

/** Says why a request got no answer, and what to do. `proxy`: the variable with the proxy for this URL. */
export function explainConnection(url: URL, error: unknown, proxy = findProxyVariable(url, VARIABLES)): string {
  if (error instanceof Error && error.name === 'TimeoutError') return explainSilence(url, proxy)
  const causes = causesOf(error)
  const proxyStatus = causes.map(proxyStatusOf).find((status) => status !== null)
  if (proxyStatus) return `${explainProxy(url, proxyStatus)} ${correctProxy(proxy)}`
  const place = causes.map((cause) => findProxy(url, cause)).find((found) => found !== null)
  if (place) return `${explainLostProxy(url, place)} ${correctProxy(proxy)}`
  const codes = causes.flatMap((cause) => codeOf(cause) ?? [])
  const explain = codes.map((code) => CONNECTION_PROBLEMS[code]).find(Boolean)
  if (explain) return explain(url, proxy)
  const reason = codes[0] === undefined ? '' : ` (${codes[0]})`
  return `${url.origin} cannot be reached${reason}. ${networkAdvice()}`
}

/** The proxy of the environment is named too, because it may be what does not answer. */
function explainSilence({ host }: URL, proxy: string | null): string {
  const time = `${ANSWER_TIMEOUT_MS / 1000} seconds`
  const check = proxy === null ? '' : `check the proxy of ${proxy}, or `
  return `${host} did not answer within ${time}. Try again; if it stays like this, ${check}tell your operator.`
}

/** The status with which the proxy of the environment refused to connect. Node.js has it only in a message. */
function proxyStatusOf({ message }: Error): string | null {
  return /^Proxy response \((\d{3})\)/.exec(message)?.[1] ?? null
}

function explainProxy(url: URL, status: string): string {
  const why = status === '407' ? 'it requires a user name and a password' : 'it does not connect to this host'
  return `The proxy of your environment answered ${status} for ${url.host}: ${why}.`
}

function correctProxy(proxy: string | null): string {
  return `Correct ${proxy ?? 'the proxy'}, or add the host to NO_PROXY.`
}

/**
 * Where a connection has failed that was not to the host of the URL, and so was to the proxy of the environment; null
 * for another error. The errors of Node.js have the name that was looked up, or the address and the port.
 */
function findProxy(url: URL, error: Error): string | null {
  if ('hostname' in error) return error.hostname === url.hostname ? null : String(error.hostname)
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  if (!('address' in error && 'port' in error) || String(error.port) === port) return null
  return `${String(error.address)}, port ${String(error.port)}`
}

function explainLostProxy(url: URL, place: string): string {
  return `The proxy of your environment cannot be reached at ${place}, to connect to ${url.host}.`
}

/** An error with all its causes, including those of several attempts (IPv4 and IPv6). */
function causesOf(error: unknown): Error[] {
  if (!(error instanceof Error)) return []
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : []
  return [error, ...inner.flatMap(causesOf), ...causesOf(error.cause)]
}
