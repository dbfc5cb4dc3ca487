import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A local inference server for the demo. It serves chat completions and repeats the prompt; no model runs in it. */
export type EchoEngine = { readonly url: string; close(): Promise<void> }

/** The name of its only model. The example directory file maps `svc/fast` to it. */
const MODEL = 'qwen3:8b'

/** The pause between two words, which makes the streaming visible. */
const WORD_PAUSE_MS = 40

/** Longer prompts are cut, so that the answer to a coding agent does not stream for minutes. */
const MAX_PROMPT_CHARACTERS = 200

/** Starts the engine on a free port of the loopback address. */
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
    return sendJson(res, 200, { object: 'list', data: [{ id: MODEL, object: 'model', created: 0, owned_by: 'echo' }] })
  }
  if (req.method !== 'POST' || req.url !== '/v1/chat/completions') {
    return sendJson(res, 404, { error: { message: `The echo engine has no route ${req.method} ${req.url}.` } })
  }
  const { messages, stream } = await readCall(req)
  const words = `Echo engine: you said "${findPrompt(messages)}".`.split(/(?<= )/)
  const usage = {
    prompt_tokens: messages.length,
    completion_tokens: words.length,
    total_tokens: messages.length + words.length,
  }
  if (stream !== true) return sendJson(res, 200, completion(words.join(''), usage))
  await streamWords(res, words, usage)
}

/** One message of a chat completions call, as far as the engine reads it. */
export type EchoMessage = { readonly role?: string; readonly content?: unknown }

type Call = { readonly messages: readonly EchoMessage[]; readonly stream?: boolean }

async function readCall(req: IncomingMessage): Promise<Call> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  // The gateway is the only caller, and it has validated the body.
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Call
}

/**
 * What the person typed last, at most 200 characters. Coding agents put their own context around the prompt, in blocks
 * such as `<system-reminder>...</system-reminder>`; those are left out.
 */
export function findPrompt(messages: readonly EchoMessage[]): string {
  const prompts = messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) => withoutTaggedBlocks(toText(content)))
  const prompt = prompts.findLast((text) => text !== '') ?? ''
  return prompt.length > MAX_PROMPT_CHARACTERS ? `${prompt.slice(0, MAX_PROMPT_CHARACTERS)}...` : prompt
}

function toText(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? (content as { text?: unknown }[]) : []
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join(' ')
}

function withoutTaggedBlocks(text: string): string {
  return text.replaceAll(/<([\w-]+)(?: [^>]*)?>[\s\S]*?<\/\1>/g, '').trim()
}

type Usage = { prompt_tokens: number; completion_tokens: number; total_tokens: number }

function completion(content: string, usage: Usage) {
  const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }
  return { id: 'chatcmpl-echo', object: 'chat.completion', created: 0, model: MODEL, choices: [choice], usage }
}

async function streamWords(res: ServerResponse, words: readonly string[], usage: Usage): Promise<void> {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const content of words) {
    if (res.destroyed) return
    res.write(toEvent({ content }, null))
    await sleep(WORD_PAUSE_MS)
  }
  res.write(toEvent({}, 'stop', usage))
  res.end('data: [DONE]\n\n')
}

function toEvent(delta: { content?: string }, finish_reason: 'stop' | null, usage?: Usage): string {
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

function sendJson(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
