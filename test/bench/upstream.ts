/**
 * The upstream of the measurements, run as a process. A request header chooses the answer: JSON, or one of several
 * kinds of streams.
 */
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { ANSWER } from './answer.ts'

const PAUSE_MS = 20
const EVENT = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] })}\n\n`
let open = 0
/** Streams that end after a request to /end. */
const held = new Set<ServerResponse>()

const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  if (req.url === '/open') return void res.end(String(open))
  if (req.url === '/end') {
    for (const stream of held) stream.end(`${EVENT}data: [DONE]\n\n`)
    held.clear()
    return void res.end()
  }
  open += 1
  res.once('close', () => (open -= 1))
  const kind = req.headers['x-stainless-lang']
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('end', () => {
    if (kind === 'never') return
    if (typeof kind === 'string' && kind.startsWith('garbage')) return writeGarbage(res, Number(kind.slice(-1)))
    if (kind !== 'stream' && kind !== 'idle' && kind !== 'flood' && kind !== 'ends') {
      return void res.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER)
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(EVENT)
    if (kind === 'idle') return
    if (kind === 'flood') return flood(res)
    if (kind === 'ends') return void held.add(res)
    const timer = setInterval(() => res.write(EVENT), PAUSE_MS)
    res.once('close', () => clearInterval(timer))
  })
})

// A caller that has closed its side has left. Node.js would send it what is written first, and when the system has dropped
// a packet, that waits for seconds.
server.on('connection', (socket) => socket.on('end', () => socket.destroy()))
server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4096 })

/** Writes as fast as the caller reads, without an end. */
function flood(res: ServerResponse): void {
  const event = `data: {"choices":[{"delta":{"content":"${'x'.repeat(16_000)}"}}]}\n\n`
  const write = (): void => {
    while (!res.destroyed && res.write(event));
  }
  // Not in the same tick: while one caller reads, the events of other callers must be handled too.
  res.on('drain', () => setImmediate(write))
  write()
}

/**
 * Writes an invalid answer: no HTTP (0), a body that is too short (1), an invalid chunk size (2), or a reset in a
 * stream (3).
 */
function writeGarbage(res: ServerResponse, kind: number): void {
  const { socket } = res
  if (kind === 0) socket?.end('\u0016\u0003\u0001 nonsense\r\n\r\n')
  if (kind === 1) socket?.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"a":')
  if (kind === 2) {
    socket?.end('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nzz\r\noops')
  }
  if (kind === 3) {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(EVENT, () => socket?.resetAndDestroy())
  }
}
