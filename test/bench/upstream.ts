/** The upstream of the benchmark, a process of its own: JSON at once, or a stream of 50 events a second until the caller leaves. */
import { createServer } from 'node:http'

const PAUSE_MS = 20
const EVENT = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] })}\n\n`
const ANSWER = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(400) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
})

let open = 0

const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  if (req.url === '/open') return void res.end(String(open))
  open += 1
  res.once('close', () => (open -= 1))
  const kind = req.headers['x-stainless-lang']
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('end', () => {
    if (kind === 'never') return
    if (kind !== 'stream' && kind !== 'idle') {
      return void res.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER)
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(EVENT)
    if (kind === 'idle') return
    const timer = setInterval(() => res.write(EVENT), PAUSE_MS)
    res.once('close', () => clearInterval(timer))
  })
})

server.listen(Number(process.argv[2]), '127.0.0.1')
