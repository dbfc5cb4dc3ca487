import type { Send } from '../../sdk/index.ts'
import { UnreachableError } from '../failures.ts'
import { ANSWER_TIMEOUT_MS, explainConnection } from './connection-problems.ts'

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
