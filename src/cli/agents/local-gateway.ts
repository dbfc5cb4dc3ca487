import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { newKeyMaterial } from '../../kernel/secret.ts'
import { explainConnection } from '../deployment/connection-problems.ts'
import { EXIT, toCommandError } from '../failures.ts'
import type { LocalGateway } from './agent.ts'

type Needs = {
  readonly gatewayUrl: string
  accessToken(): Promise<string>
  /** A token other than the one that the gateway has rejected. */
  renewAccessToken(rejected: string): Promise<string>
}

/**
 * Opens a proxy to the gateway on a loopback port. It sends every call with a fresh access token, for agents that read
 * their key once. Calls need the key, which only this process and the agent know: other users of the machine get 401.
 * It ends with this process, and does not keep it alive.
 */
export async function openLocalGateway(needs: Needs): Promise<LocalGateway> {
  // Imported here because loading it takes longer than all of `svc token`. The packed file loads static imports at its
  // start, for every command.
  const { createServer } = await import('node:http')
  const key = newKeyMaterial().reveal()
  const server = createServer((req, res) => {
    serve(req, res, key, needs).catch((error: unknown) => refuse(res, error, needs.gatewayUrl))
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = server.unref().address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, key }
}

async function serve(req: IncomingMessage, res: ServerResponse, key: string, needs: Needs) {
  if (!isEqual(req.headers.authorization ?? '', `Bearer ${key}`)) {
    return writeError(res, 401, 'This address is only for the agent that svc run has started.')
  }
  const answer = await callGateway(req, res, needs)
  res.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer.headers))
  // When one side breaks, this closes the other.
  await pipeline(answer, res)
}

/**
 * Sends the call to the gateway, and once more with a new token when the gateway rejects the token. A token that seems
 * fresh can have expired: where the clock of this machine was set back, or has stood still while the machine slept.
 */
async function callGateway(
  req: IncomingMessage,
  res: ServerResponse,
  { gatewayUrl, accessToken, renewAccessToken }: Needs,
): Promise<IncomingMessage> {
  const left = new AbortController()
  res.once('close', () => left.abort())
  const body = await buffer(req)
  const url = new URL(gatewayUrl + (req.url ?? '/'))
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const send = (token: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { ...withoutHopByHop(req.headers), authorization: `Bearer ${token}` }
      request(url, { method: req.method, headers, signal: left.signal }, resolve).on('error', reject).end(body)
    })
  const token = await accessToken()
  const answer = await send(token)
  if (answer.statusCode !== 401) return answer
  answer.resume()
  return send(await renewAccessToken(token))
}

/** Headers that are not forwarded: those of RFC 9110, section 7.6.1, and `host`. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
]

function withoutHopByHop(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)))
}

function isEqual(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Answers 401 when there is no token and 502 for other failures. Closes the connection when an answer has begun. */
function refuse(res: ServerResponse, error: unknown, gatewayUrl: string): void {
  if (res.headersSent) return void res.destroy()
  const known = toCommandError(error)
  const isSignedOut = known?.exitStatus === EXIT.notSignedIn
  writeError(res, isSignedOut ? 401 : 502, known?.message ?? explainConnection(new URL(gatewayUrl), error))
}

function writeError(res: ServerResponse, status: number, message: string): void {
  const code = status === 401 ? 'unauthorized' : 'upstream_failed'
  res.writeHead(status, { 'content-type': 'application/json', 'x-should-retry': String(status !== 401) })
  res.end(JSON.stringify({ type: 'error', error: { type: 'api_error', code, message } }))
}
