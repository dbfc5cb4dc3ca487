import { codeOf, UNTRUSTED_CERTIFICATE } from '../../kernel/error-code.ts'
import { explainUnusedProxy, findProxyVariable } from '../../kernel/network/outbound-proxy.ts'
import type { Send } from '../../sdk/index.ts'
import { VARIABLES } from '../environment.ts'
import { UnreachableError } from '../failures.ts'

/** How long a deployment may take to answer anything but a model call. */
const ANSWER_TIMEOUT_MS = 20_000

/** `fetch` for requests to the control plane, with a timeout. Throws an `UnreachableError` when there is no answer. */
export const sendRequest: Send = (request) => {
  // Not `AbortSignal.any`: Node.js 20 loses its signals when it collects garbage.
  const controller = new AbortController()
  const timeOut = () => controller.abort(new DOMException('The answer takes too long.', 'TimeoutError'))
  setTimeout(timeOut, ANSWER_TIMEOUT_MS).unref()
  const follow = () => controller.abort(request.signal.reason)
  if (request.signal.aborted) follow()
  else request.signal.addEventListener('abort', follow)
  return send(request, controller.signal)
}

/** The same without a timeout, for model calls and streams. */
export const sendCall: Send = (request) => send(request, request.signal)

async function send(request: Request, signal: AbortSignal): Promise<Response> {
  // A redirect is not followed: it leads to another server, which would get the tokens in the body of the request.
  const response = await fetch(request, { signal, redirect: 'manual' }).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'AbortError') throw error
    throw new UnreachableError(explainConnection(new URL(request.url), error))
  })
  if (!(await isFromAnotherServer(response, new URL(request.url), signal))) return response
  await response.body?.cancel()
  throw new UnreachableError(explainAnswer(new URL(request.url), response))
}

/** What proxies answer when they do not reach the server behind them. */
const PROXY_FAILURES = [502, 503, 504]

/** The headers with the id of a request. Every answer of a deployment has both, but proxies may remove one of them. */
const REQUEST_IDS = ['x-request-id', 'request-id']

/**
 * Whether an answer comes from a proxy, a sign-in portal or another service instead of the deployment. The command
 * never asks for a page. Proxies may remove the ids of requests. Without an id, streams and answers without a body are
 * taken, and JSON only when a deployment answers at the origin.
 */
async function isFromAnotherServer(response: Response, { origin }: URL, signal: AbortSignal): Promise<boolean> {
  if (isPage(response)) return true
  if (REQUEST_IDS.some((name) => response.headers.has(name)) || response.status === 204) return false
  if (PROXY_FAILURES.includes(response.status)) return true
  if (typeOf(response).includes('event-stream')) return false
  return !isJson(response) || !(await isDeployment(origin, signal))
}

/**
 * Whether a deployment answers at an origin, by the metadata of its authorization server (RFC 8414, RFC 8628). True
 * when the request for the metadata fails or is answered with 429 or 5xx, because that says nothing about the address.
 */
async function isDeployment(origin: string, signal: AbortSignal): Promise<boolean> {
  const url = `${origin}/.well-known/oauth-authorization-server`
  const answer = await fetch(url, { signal, redirect: 'manual' }).catch(() => null)
  if (answer === null || answer.status === 429 || answer.status >= 500) {
    await answer?.body?.cancel()
    return true
  }
  const metadata: unknown = await answer.json().catch(() => null)
  return typeof metadata === 'object' && metadata !== null && 'device_authorization_endpoint' in metadata
}

const typeOf = ({ headers }: Response) => (headers.get('content-type') ?? '').toLowerCase()

const isPage = (response: Response) => typeOf(response).startsWith('text/html')

const isJson = (response: Response) => typeOf(response).includes('json')

function explainAnswer({ origin, href }: URL, response: Response): string {
  const { status, headers } = response
  const target = headers.get('location')
  if (target !== null && URL.canParse(target, href)) return explainRedirect(origin, new URL(target, href).origin)
  if (PROXY_FAILURES.includes(status)) {
    return (
      `A proxy in front of ${origin} answered ${status}: it cannot reach the service now. Try again in a minute; ` +
      'if it stays like this, tell your operator.'
    )
  }
  if (isJson(response)) {
    return `${origin} answered ${status}, but not as svc: another service is at this address. Check the URL.`
  }
  return (
    `${origin} answered ${status} with ${isPage(response) ? 'a web page' : 'something else'} instead of JSON. ` +
    'Check the URL. If it is right, a proxy or the sign-in page of a network is in between: open the URL in a ' +
    'browser to see it.'
  )
}

function explainRedirect(origin: string, target: string): string {
  return (
    `${origin} redirects to ${target}. If that is the service, run: svc login ${target}. If it is the sign-in page ` +
    'of a network, open it in a browser and sign in there first.'
  )
}

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
  const codes = causes.map(codeOf)
  const known = codes.find((code) => code !== null && code in CONNECTION_PROBLEMS)
  if (known) return CONNECTION_PROBLEMS[known]?.(url, proxy) ?? ''
  const code = codes.find((found) => found !== null)
  const reason = code ? ` (${code})` : ''
  return `${url.origin} cannot be reached${reason}. ${networkAdvice()}`
}

/** The proxy of the environment is named too, because it may be what does not answer. */
function explainSilence({ host }: URL, proxy: string | null): string {
  const time = `${ANSWER_TIMEOUT_MS / 1000} seconds`
  const check = proxy === null ? '' : `check the proxy of ${proxy}, or `
  return `${host} did not answer within ${time}. Try again; if it stays like this, ${check}tell your operator.`
}

/** The status with which the proxy of the environment refused to connect. Node.js has it only in a message. */
function proxyStatusOf(error: unknown): string | null {
  return (error instanceof Error && /^Proxy response \((\d{3})\)/.exec(error.message)?.[1]) || null
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
function findProxy(url: URL, error: unknown): string | null {
  if (!(error instanceof Error)) return null
  if ('hostname' in error) return error.hostname === url.hostname ? null : String(error.hostname)
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  if (!('address' in error && 'port' in error) || String(error.port) === port) return null
  return `${String(error.address)}, port ${String(error.port)}`
}

function explainLostProxy(url: URL, place: string): string {
  return `The proxy of your environment cannot be reached at ${place}, to connect to ${url.host}.`
}

/** An error with all its causes, including those of several attempts (IPv4 and IPv6). */
function causesOf(error: unknown): unknown[] {
  if (!(error instanceof Error)) return []
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : []
  return [error, ...inner.flatMap(causesOf), ...causesOf(error.cause)]
}
