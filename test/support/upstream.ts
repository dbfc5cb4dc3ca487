import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'

/** A request as the upstream saw it, and the means to answer or not. */
export type SeenCall = {
  readonly method: string
  /** Path and query as sent. */
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  readonly res: ServerResponse
  readonly socket: Socket
}

export type Script = (call: SeenCall) => void | Promise<void>

/** A loopback upstream: it records what it sees and does what the script says. */
export type TestUpstream = AsyncDisposable & {
  readonly url: URL
  /** Every call, in the order of arrival. */
  readonly calls: readonly SeenCall[]
  /** Replaces what is done with the calls that follow. */
  script: Script
  /** Calls whose answer is not finished and whose connection is open. */
  openCalls(): number
  /** The last call; fails when there was none. */
  last(): SeenCall
  /** Forgets the calls it has seen and follows another script. */
  restart(script: Script): void
}

/** Starts an upstream on a free port. Dispose of it to close every connection. */
export async function startUpstream(script: Script = answersJson({})): Promise<TestUpstream> {
  const calls: SeenCall[] = []
  let open = 0
  const server = createServer({ keepAliveTimeout: 30_000, noDelay: true }, (req, res) => {
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
      // A caller that leaves in the middle of its own body.
      () => res.destroy(),
    )
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo

  const upstream: TestUpstream = {
    url: new URL(`http://127.0.0.1:${port}`),
    calls,
    script,
    openCalls: () => open,
    last() {
      const call = calls.at(-1)
      if (!call) throw new Error('The upstream has seen no call.')
      return call
    },
    restart(next) {
      calls.length = 0
      upstream.script = next
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
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

/** Answers with a stream of these pieces, one write each; `end` says how it stops. */
export function streams(pieces: readonly (string | Buffer)[], { end = 'well' }: { end?: Ending } = {}): Script {
  return async ({ res, socket }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    res.flushHeaders()
    for (const piece of pieces) {
      res.write(piece)
      await turn()
    }
    finish(res, socket, end)
  }
}

/** `breaks`: the connection closes in the middle; `resets`: with a TCP reset; `stalls`: nothing more ever comes. */
export type Ending = 'well' | 'breaks' | 'resets' | 'stalls'

/** Never answers. */
export const neverAnswers: Script = () => {}

/** Writes these bytes on the connection instead of an HTTP answer, and closes it. */
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
