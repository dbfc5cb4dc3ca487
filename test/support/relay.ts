import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { expect, onTestFinished } from 'vitest'
import { openBackendPool } from '../../src/gateway/backends/backend.ts'
import { BACKEND_KINDS } from '../../src/gateway/backends/kinds.ts'
import { makeSharedLookup } from '../../src/gateway/backends/shared-lookup.ts'
import type { Dialect, StreamFailure } from '../../src/gateway/dialects/dialect.ts'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { startExchange } from '../../src/gateway/exchange/exchange.ts'
import type { Exchange } from '../../src/gateway/exchange/exchange.ts'
import type { ExchangeOptions } from '../../src/gateway/exchange/relay.ts'
import { toBackendHeaders } from '../../src/gateway/exchange/headers.ts'
import type { Outcome } from '../../src/gateway/exchange/outcome.ts'
import { makeStreamKeepAlive } from '../../src/gateway/exchange/stream-keep-alive.ts'
import { openBodyBudget } from '../../src/http/body-budget.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { closeHttpServer, listenOnLoopback } from './loopback.ts'
import { startUpstream } from './upstream.ts'
import type { Script } from './upstream.ts'

/** A stream in the chat dialect, one event each. */
export const CHAT_EVENTS = [
  'data: {"choices":[{"delta":{"content":"Grüß"}}]}\n\n',
  'data: {"choices":[{"delta":{"content":" Gott 🎉"}}]}\n\n',
  'data: [DONE]\n\n',
] as const

/** What `startRelay`'s clients send. */
export const REQUEST_BODY = '{"model":"m","stream":true,"seed":12345678901234567890,"t":1.0}'

/** The status of an answer that the exchange left to the handler. */
export const UNANSWERED = 599

type Given = Partial<Omit<ExchangeOptions, 'dialect'>> & {
  readonly dialect?: Dialect
  readonly idleTimeoutMs?: number
  /** Of the backend, where it is not the upstream of the script. */
  readonly url?: URL
  /** The caller has left before the request is sent. */
  readonly leavesFirst?: boolean
  /** Ends the exchange as soon as it has started. */
  readonly endsAtOnce?: StreamFailure
}

/**
 * A server that does nothing but exchange, in front of a loopback upstream. It answers with `UNANSWERED` where the
 * exchange has not answered.
 */
export async function startRelay(
  script: Script,
  { idleTimeoutMs = 10_000, url, leavesFirst = false, endsAtOnce, dialect = 'chat', ...options }: Given = {},
) {
  const upstream = await startUpstream(script)
  const connecting = { connectTimeoutMs: 2000, idleTimeoutMs, lookup: makeSharedLookup(), outboundProxy: null }
  const connections = openBackendPool(url ?? upstream.url, connecting)
  const exchanges: Exchange[] = []
  const responses: ServerResponse[] = []
  const sockets: Socket[] = []
  let before: Record<string, number> = {}

  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    if (leavesFirst) await once(res.destroy(), 'close')
    before = countListeners(res)
    responses.push(res)
    sockets.push(req.socket)
    res.setHeader('x-svc-served-by', 'vendora')
    res.setHeader('request-id', 'req_ours')
    const exchange = startExchange(
      connections,
      {
        method: 'POST',
        path: '/v1/x?beta=true',
        headers: toBackendHeaders(req.rawHeaders, null),
        body: Buffer.concat(chunks),
      },
      res,
      {
        dialect: DIALECTS[dialect],
        backendDialect: DIALECTS[dialect],
        isTranslated: false,
        credential: null,
        keepsErrors: false,
        failureCodes: BACKEND_KINDS.vendor.failureCodes,
        onAnswer: () => {},
        wantsStream: true,
        rewrite: null,
        filter: null,
        keepAlive: makeStreamKeepAlive(15_000),
        observer: { push: () => {} },
        budget: openBodyBudget(Infinity),
        clock: systemClock,
        ...options,
      },
    )
    exchanges.push(exchange)
    if (endsAtOnce) exchange.end(endsAtOnce)
    const { answered, kind } = await exchange.outcome
    if (!answered && kind !== 'left') res.writeHead(UNANSWERED).end()
  })
  const port = await listenOnLoopback(server)
  onTestFinished(async () => {
    await connections.pool.destroy()
    await closeHttpServer(server)
    await upstream[Symbol.asyncDispose]()
  })

  const open = ({ headers = {} } = {}): ClientRequest => {
    const client = request({
      port,
      method: 'POST',
      path: '/',
      agent: false,
      headers: { 'content-type': 'application/json', ...headers },
    })
    client.on('error', () => {})
    client.end(REQUEST_BODY)
    return client
  }
  return {
    upstream,
    /** One for each call. */
    exchanges,
    open,
    post: (given: { headers?: Record<string, string> } = {}) => answerOf(open(given)),
    /** Closes the connections to the upstream, as a stop of the service does. */
    stop: () => connections.pool.destroy(),
    /** How the first call ended. */
    async outcome(): Promise<Outcome> {
      await expect.poll(() => exchanges.length).toBeGreaterThan(0)
      const [first] = exchanges
      if (!first) throw new Error('No call was made.')
      return first.outcome
    },
    /** The caller's connection of the first call. */
    callerSocket: () => sockets[0],
    /** How many listeners the first call has left on its answer, by event. */
    listenersLeft() {
      const after = Object.entries(countListeners(responses[0]))
      return Object.fromEntries(after.map(([name, count]) => [name, count - (before[name] ?? 0)]))
    },
  }
}

/** Writes events of 16 KB all at once: more than the buffers of a connection hold. */
export function floods(events: number): Script {
  return ({ res }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let at = 0; at < events; at++) res.write(`data: ${'x'.repeat(16_000)}\n\n`)
    res.end()
  }
}

export function answerOf(client: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => client.on('response', resolve).on('error', reject))
}

/** The rest of an answer, and whether HTTP says that it is complete. */
export async function readAnswer(
  answer: IncomingMessage,
): Promise<{ answer: IncomingMessage; text: string; ended: 'well' | 'broken' }> {
  const chunks: Buffer[] = []
  answer.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = await new Promise<'well' | 'broken'>((resolve) => {
    answer
      .on('end', () => resolve('well'))
      .on('error', () => resolve('broken'))
      .on('close', () => resolve('broken'))
    answer.resume()
  })
  return { answer, text: Buffer.concat(chunks).toString(), ended }
}

/** The next bytes of an answer. */
export function nextChunk(answer: Readable): Promise<string> {
  return new Promise((resolve) => {
    answer.once('data', (chunk: Buffer) => {
      answer.pause()
      resolve(chunk.toString())
    })
    answer.resume()
  })
}

/** The JSON of an event. */
export function dataOf(event: string): unknown {
  return JSON.parse(/data: (.*)/.exec(event)?.[1] ?? 'null')
}

/** Waits until a number no longer grows: it is the same at two times that are 150 ms apart. */
export async function settled(value: () => number): Promise<void> {
  for (let last = -1; value() !== last;) {
    last = value()
    await new Promise((later) => setTimeout(later, 150))
  }
}

function countListeners(res: ServerResponse | undefined): Record<string, number> {
  const names = ['close', 'drain', 'timeout', 'error']
  return Object.fromEntries(names.map((name) => [name, res?.listenerCount(name) ?? 0]))
}
