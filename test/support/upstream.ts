import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Certificate } from './network/certificate.ts'
import { closeHttpServer, listenOnLoopback } from './loopback.ts'

/** A request as the upstream received it, and what a script needs to answer it. */
export type SeenCall = {
  readonly method: string
  /** Path and query, unchanged. */
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  readonly res: ServerResponse
  readonly socket: Socket
}

export type Script = (call: SeenCall) => void | Promise<void>

/** An upstream on loopback that records its calls and answers them with a script. */
export type TestUpstream = AsyncDisposable & {
  readonly url: URL
  /** All calls, in the order of arrival. */
  readonly calls: readonly SeenCall[]
  /** Answers the calls that arrive from now on. */
  script: Script
  /** The number of calls whose answer is not finished and whose connection is open. */
  openCalls(): number
  /** The last call; throws when there was none. */
  last(): SeenCall
  /** Forgets the recorded calls and sets another script. */
  restart(script: Script): void
}

/**
 * Starts an upstream on a free port, with TLS when it has a certificate of `localhost`. Disposal closes all connections.
 */
export async function startUpstream(
  script: Script = answersJson({}),
  certificate: Certificate | null = null,
): Promise<TestUpstream> {
  const calls: SeenCall[] = []
  let open = 0
  const options = { keepAliveTimeout: 30_000, noDelay: true }
  const onRequest = (req: IncomingMessage, res: ServerResponse) => {
    open++
    res.once('close', () => open--)
    res.on('error', () => {})
    void readBody(req).then(
      async (body) => {
        const { method = '', url = '', rawHeaders, headers, socket } = req
        const call = { method, url, rawHeaders, headers, body, res, socket }
        calls.push(call)
        await upstream.script(call)
      },
      // The caller disconnected before its body was complete.
      () => res.destroy(),
    )
  }
  const server = certificate
    ? createTlsServer({ ...options, ...certificate }, onRequest)
    : createServer(options, onRequest)
  const port = await listenOnLoopback(server)

  const upstream: TestUpstream = {
    url: new URL(certificate ? `https://localhost:${port}` : `http://127.0.0.1:${port}`),
    calls,
    script,
    openCalls: () => open,
    last() {
      const call = calls.at(-1)
      if (!call) throw new Error('The upstream has received no call.')
      return call
    },
    restart(next) {
      calls.length = 0
      upstream.script = next
    },
    [Symbol.asyncDispose]: () => closeHttpServer(server),
  }
  return upstream
}

/** Answers with JSON, in one write. */
export function answersJson(
  body: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Script {
  return ({ res }) =>
    void res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** A whole answer in the chat dialect, of 12 tokens in and 3 out. */
export function completionOf(model: string) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
  }
}

/** Answers with a stream of these pieces, one write each, and then ends as `end` says. */
export function streams(pieces: readonly (string | Buffer)[], { end = 'well' }: { end?: Ending } = {}): Script {
  return async ({ res, socket }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    res.flushHeaders()
    for (const piece of pieces) {
      res.write(piece)
      await nextTurn()
    }
    finish(res, socket, end)
  }
}

/**
 * `breaks`: closes the connection without the end of the answer; `resets`: with a TCP reset; `stalls`: keeps it open
 * and sends nothing.
 */
export type Ending = 'well' | 'breaks' | 'resets' | 'stalls'

/** Sends no answer and keeps the connection open. */
export const neverAnswers: Script = () => {}

/** Writes these bytes to the connection instead of an HTTP answer, and closes it. */
export function writesRaw(bytes: string | Buffer): Script {
  return ({ socket }) => void socket.end(bytes)
}

/** Cuts bytes into pieces of one byte each. */
export function byteByByte(text: string): Buffer[] {
  return Array.from(Buffer.from(text), (byte) => Buffer.from([byte]))
}

function finish(res: ServerResponse, socket: Socket, end: Ending): void {
  if (end === 'well') res.end()
  if (end === 'breaks') socket.destroySoon()
  if (end === 'resets') socket.resetAndDestroy()
}

async function readBody(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
