import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A stand-in for an inference server, for the demo: it speaks the chat completions style and repeats what it was told. No model thinks
 * here, and its answers say so.
 */
export type EchoEngine = { readonly url: string; close(): Promise<void> }

/** What it calls its one model: the example directory maps `svc/fast` to it. */
const MODEL = 'qwen3:8b'

/** Between two words, so that a stream is seen to stream. */
const WORD_PAUSE_MS = 40

export async function startEchoEngine(): Promise<EchoEngine> {
  const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (req.method === 'GET' && req.url === '/v1/models') {
    return json(res, 200, { object: 'list', data: [{ id: MODEL, object: 'model', created: 0, owned_by: 'echo' }] })
  }
  if (req.method !== 'POST' || req.url !== '/v1/chat/completions') {
    return json(res, 404, { error: { message: 'The echo engine has no such route.' } })
  }
  const { messages, stream } = await readCall(req)
  const words = `Echo engine: you said "${textOf(messages.at(-1)?.content)}".`.split(/(?<= )/)
  const usage = {
    prompt_tokens: messages.length,
    completion_tokens: words.length,
    total_tokens: messages.length + words.length,
  }
  if (stream !== true) return json(res, 200, completion(words.join(''), usage))
  await streamWords(res, words, usage)
}

type Call = { readonly messages: readonly { readonly content?: unknown }[]; readonly stream?: boolean }

async function readCall(req: IncomingMessage): Promise<Call> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  // Its one caller is the gateway, which has checked the shape.
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Call
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? (content as { text?: unknown }[]) : []
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join(' ')
}

type Usage = { prompt_tokens: number; completion_tokens: number; total_tokens: number }

function completion(content: string, usage: Usage) {
  const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }
  return { id: 'chatcmpl-echo', object: 'chat.completion', created: 0, model: MODEL, choices: [choice], usage }
}

async function streamWords(res: ServerResponse, words: readonly string[], usage: Usage): Promise<void> {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const content of words) {
    res.write(chunk({ content }, null))
    await sleep(WORD_PAUSE_MS)
  }
  res.write(chunk({}, 'stop', usage))
  res.end('data: [DONE]\n\n')
}

function chunk(delta: { content?: string }, finish_reason: 'stop' | null, usage?: Usage): string {
  const choices = [{ index: 0, delta, finish_reason }]
  const data = {
    id: 'chatcmpl-echo',
    object: 'chat.completion.chunk',
    created: 0,
    model: MODEL,
    choices,
    ...(usage && { usage }),
  }
  return `data: ${JSON.stringify(data)}\n\n`
}

function json(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
