import { Agent, createServer, request } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { makeSseDecoder } from '../../../src/gateway/dialects/sse/decode.ts'
import { SERVER_TIMEOUTS } from '../../../src/server/listener.ts'
import { closeHttpServer, listenOnLoopback } from '../loopback.ts'
import { checkAnswer, checkEvent } from './contract-check.ts'
import { checkRequest } from './contract-request.ts'

export type ContractProxy = AsyncDisposable & {
  readonly port: number
  /** Where it sends requests to from now on. */
  forwardTo(port: number): void
}

/**
 * Starts a proxy on loopback that compares all requests and answers with the contract, in the way of
 * `prism proxy`. Its disposal rejects when something did not match.
 */
export async function startContractProxy(): Promise<ContractProxy> {
  const mistakes = new Set<string>()
  const agent = new Agent({ keepAlive: true })
  let target = 0
  // Its answers have the `Keep-Alive` of the service, so idle connections must stay open as long as there.
  const { keepAliveTimeout } = SERVER_TIMEOUTS
  const server = createServer({ keepAliveTimeout }, (req, res) => {
    forward(req, res, agent, target).catch((error: unknown) => {
      mistakes.add(error instanceof Error ? error.message : String(error))
      res.destroy()
    })
  })
  const port = await listenOnLoopback(server)
  return {
    port,
    forwardTo: (to) => void (target = to),
    async [Symbol.asyncDispose]() {
      await closeHttpServer(server)
      agent.destroy()
      if (mistakes.size > 0) throw new Error(['Not in the contract:', ...mistakes].join('\n'))
    },
  }
}

/** Forwards one request and its answer as they come. Rejects when one of them does not match the contract. */
async function forward(req: IncomingMessage, res: ServerResponse, agent: Agent, port: number): Promise<void> {
  const { method = 'GET', headers } = req
  const url = new URL(req.url ?? '/', `http://127.0.0.1:${port}`)
  const body = await buffer(req)
  const answer = await ask()
  // The caller or the service has gone, as tests want it.
  if (!answer) return void res.destroy()
  const { statusCode: status = 0, rawHeaders } = answer
  res.writeHead(status, rawHeaders)
  const chunks: Buffer[] = []
  answer.on('data', (chunk: Buffer) => chunks.push(chunk) && res.write(chunk))
  const isWhole = await new Promise<boolean>((resolve) => {
    answer.once('end', () => resolve(true)).once('close', () => resolve(false))
  })
  const response = new Response(isEmpty(status) ? null : Buffer.concat(chunks), {
    status,
    headers: toHeaders(rawHeaders),
  })
  if (isWhole || isStream(response)) await check(response)
  if (isWhole) res.end()
  else res.destroy()

  function ask(): Promise<IncomingMessage | null> {
    return new Promise((resolve) => {
      const asking = request({ host: '127.0.0.1', port, method, path: req.url, headers, agent }, resolve)
      asking.once('error', () => resolve(null))
      res.once('close', () => asking.destroy())
      asking.end(body)
    })
  }

  async function check(response: Response): Promise<void> {
    await checkAnswer(method, url, response)
    for (const data of eventsOf(response, Buffer.concat(chunks))) checkEvent(method, url, response, data)
    if (status < 400) checkRequest({ method, url, headers: toHeaders(req.rawHeaders), body: body.toString() })
  }
}

/** Statuses whose answers have no body (Fetch, section 2.2.3). */
function isEmpty(status: number): boolean {
  return [204, 205, 304].includes(status)
}

function isStream({ headers }: Response): boolean {
  return /^(text\/event-stream|application\/x-ndjson)/.test(headers.get('content-type') ?? '')
}

/** The data of the events of a stream, as far as it was read. */
function eventsOf(response: Response, bytes: Buffer): unknown[] {
  if (!isStream(response)) return []
  const isSse = response.headers.get('content-type')?.startsWith('text/event-stream')
  const texts = isSse
    ? makeSseDecoder()
        .push(bytes)
        .map(({ data }) => data)
    : bytes.toString().split('\n').slice(0, -1)
  return texts.filter((text) => text !== '[DONE]').map((text) => JSON.parse(text) as unknown)
}

function toHeaders(raw: readonly string[]): Headers {
  const headers = new Headers()
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at] ?? '', raw[at + 1] ?? '')
  return headers
}
