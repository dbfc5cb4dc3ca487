import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { newKeyMaterial } from '../../kernel/secret.ts'
import { toCommandError } from '../failures.ts'
import type { LocalGateway } from './agent.ts'

type Needs = { readonly gatewayUrl: string; accessToken(): Promise<string> }

export type RunningLocalGateway = LocalGateway & { close(): void }

/**
 * Serves a gateway on a loopback port and gives every call a fresh access token, for agents that read their key once.
 * Calls need the key, which only this process and the agent know: other users of the machine get 401.
 */
export async function openLocalGateway(needs: Needs): Promise<RunningLocalGateway> {
  // Loading this takes longer than all that `svc token` does, and a bundle loads what it imports by name at its start.
  const { createServer } = await import('node:http')
  const key = newKeyMaterial().reveal()
  const server = createServer((req, res) => {
    serve(req, res, key, needs).catch((error: unknown) => refuse(res, error))
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    key,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function serve(req: IncomingMessage, res: ServerResponse, key: string, { gatewayUrl, accessToken }: Needs) {
  if (!isEqual(req.headers.authorization ?? '', `Bearer ${key}`)) {
    return writeError(res, 401, 'This address is only for the agent that svc run has started.')
  }
  const token = await accessToken()
  const headers = { ...withoutHopByHop(req.headers), authorization: `Bearer ${token}` }
  const answer = await forward(req, res, new URL(gatewayUrl + (req.url ?? '/')), headers)
  res.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer.headers))
  // A connection that breaks on one side is broken on the other.
  await pipeline(answer, res)
}

/** Sends the call as it comes; resolves at the head of the answer. */
async function forward(
  req: IncomingMessage,
  res: ServerResponse,
  url: URL,
  headers: IncomingHttpHeaders,
): Promise<IncomingMessage> {
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  return new Promise((resolve, reject) => {
    const call = request(url, { method: req.method, headers }, resolve).on('error', reject)
    res.once('close', () => call.destroy())
    pipeline(req, call).catch(reject)
  })
}

/** RFC 9110, section 7.6.1, and `host`, which is the next server's. */
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

/** No token, or no answer. Once an answer has begun, there is nothing left to say. */
function refuse(res: ServerResponse, error: unknown): void {
  if (res.headersSent) return void res.destroy()
  const known = toCommandError(error)
  const isSignedOut = known?.exitStatus === 3
  writeError(res, isSignedOut ? 401 : 502, known?.message ?? `The gateway cannot be reached: ${String(error)}`)
}

function writeError(res: ServerResponse, status: number, message: string): void {
  const code = status === 401 ? 'unauthorized' : 'upstream_failed'
  res.writeHead(status, { 'content-type': 'application/json', 'x-should-retry': String(status !== 401) })
  res.end(JSON.stringify({ type: 'error', error: { type: 'api_error', code, message } }))
}
