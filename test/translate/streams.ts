import { readFileSync } from 'node:fs'
import type { NewId, StreamTranslator } from '../../src/gateway/dialects/dialect.ts'
import { parseObject, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { Refusal } from '../../src/gateway/dialects/refusal.ts'
import { makeSseDecoder } from '../../src/gateway/dialects/sse/decode.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { translateCall } from '../../src/gateway/dialects/translate.ts'
import type { Translation } from '../../src/gateway/dialects/translate.ts'
import { isObject } from '../../src/kernel/json.ts'

/** Chat streams. Those in `llama-server` are recorded, the others written by hand: the folder's README says how. */
export const FIXTURES = {
  whole: [
    'ollama-text.sse',
    'ollama-thinking-two-calls.sse',
    'vllm-interleaved-calls.sse',
    'vllm-stop-sequence.sse',
    'lmstudio-calls-without-index.sse',
    'lmstudio-garbage.sse',
    'llama-server/chat-text-stream.http',
    'llama-server/chat-greeting-stream.http',
    'llama-server/chat-cut-stream.http',
    'llama-server/chat-stop-sequence-stream.http',
    'llama-server/chat-thought-stream.http',
    'llama-server/chat-call-stream.http',
    'llama-server/chat-call-cut-stream.http',
    'llama-server/chat-plan-stream.http',
    'llama-server/chat-calls-stream.http',
  ],
  broken: ['llama-server/chat-failed-stream.http', 'llama-server/chat-died-stream.http'],
} as const

export const ALL_FIXTURES = [...FIXTURES.whole, ...FIXTURES.broken]

/** The body of an answer. */
export function fixture(name: string): Buffer {
  return name.endsWith('.http') ? recorded(name).body : readFileSync(new URL(`fixtures/${name}`, import.meta.url))
}

/** An answer that was recorded with its head. */
export function recorded(name: string): { status: number; type: string; body: Buffer } {
  const bytes = readFileSync(new URL(`fixtures/${name}`, import.meta.url))
  const headEnd = bytes.indexOf('\r\n\r\n')
  const head = bytes.toString('latin1', 0, headEnd)
  return {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]),
    type: /^content-type: (.*)$/im.exec(head)?.[1] ?? '',
    body: bytes.subarray(headEnd + 4),
  }
}

export function jsonFixture(name: string): unknown {
  return JSON.parse(fixture(name).toString())
}

/**
 * These bytes in chunks, in many ways: over all of them there is one cut at every byte, and in the last one there are
 * all of them at once. In two chunks for every byte it would take the square of the length.
 */
export function cutEverywhere(bytes: Buffer): Buffer[][] {
  const cutAt = (places: readonly number[]) => [0, ...places].map((from, at) => bytes.subarray(from, places[at]))
  const places = Array.from(bytes.keys())
  return [
    ...Array.from({ length: STRIDE }, (_, first) => cutAt(places.filter((at) => at % STRIDE === first))),
    cutAt(places),
  ]
}

/** Chunks are smaller than the events of every fixture. Every step more costs one more reading of all fixtures. */
const STRIDE = 13

/** Ids that count: the same input gives the same output. */
export function countingIds(): NewId {
  let next = 0
  return (prefix) => `${prefix}${String(++next)}`
}

/** A call of any client, for a model of which only the defaults are known. */
export const TRANSLATION = {
  model: 'svc/fast',
  createdAt: 1_762_000_000,
  caps: {},
  isCodex: false,
  sessionId: null,
  seals: null,
} as const

/** A call for a chat engine, or why it is refused. */
export function tryTranslation(client: 'messages' | 'responses', body: Json): Translation | { refused: Refusal } {
  return translateCall(client, 'chat', body, { ...TRANSLATION, backendModel: 'qwen3:8b', newId: countingIds() })
}

export function translation(client: 'messages' | 'responses', body: Json): Translation {
  const made = tryTranslation(client, body)
  if ('refused' in made) throw new Error(`refused: ${made.refused.param}: ${made.refused.message}`)
  return made
}

export function messagesCall(stopSequences: string[] = []): Translation {
  return translation('messages', { messages: [], stop_sequences: stopSequences })
}

export function responsesCall(body: Json = {}): Translation {
  return translation('responses', { input: [], ...body })
}

export function toMessages(stopSequences: string[] = []): StreamTranslator {
  return messagesCall(stopSequences).answer.stream()
}

export function toResponses(body: Json = {}): StreamTranslator {
  return responsesCall(body).answer.stream()
}

/** Everything that the translator makes of these bytes, read in these chunks. */
export function translate(translator: StreamTranslator, ...chunks: Uint8Array[]): SseEvent[] {
  return run(translator, ...decode(...chunks))
}

/** The events of a stream, read in these chunks. */
export function decode(...chunks: Uint8Array[]): SseEvent[] {
  const decoder = makeSseDecoder()
  return chunks.flatMap((chunk) => decoder.push(chunk))
}

/** Chat chunks as an engine sends them, one event each; `[DONE]` is up to the caller. */
export function chunks(...bodies: unknown[]): SseEvent[] {
  return bodies.map((body) => ({ event: null, data: typeof body === 'string' ? body : JSON.stringify(body) }))
}

export function delta(delta: unknown, finish: string | null = null): unknown {
  return { object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] }
}

export function callDelta(index: number | undefined, args: string, name?: string, id?: string): unknown {
  return delta({ tool_calls: [{ index, id, function: { name, arguments: args } }] })
}

export function run(translator: StreamTranslator, ...events: SseEvent[]): SseEvent[] {
  return [...events.flatMap((event) => translator.push(event)), ...translator.end()]
}

export function parsed(events: readonly SseEvent[]): Json[] {
  return events.map(({ data }) => parseObject(data) ?? { data })
}

/** A message as a messages client puts it together. */
export function foldMessage(events: readonly SseEvent[]): Json & { content: Json[] } {
  const content: Json[] = []
  let message: Json = {}
  let json = ''
  for (const event of parsed(events)) {
    if (event.type === 'message_start') message = readObject(event.message)
    if (event.type === 'content_block_start') content.push(readObject(event.content_block))
    if (event.type === 'content_block_delta') {
      const { type, ...said } = readObject(event.delta)
      const block = readObject(content.at(-1))
      if (type === 'input_json_delta') json += String(said.partial_json)
      else
        for (const [name, text] of Object.entries(said))
          Object.assign(block, { [name]: String(block[name]) + String(text) })
    }
    if (event.type === 'content_block_stop' && json !== '') {
      Object.assign(readObject(content.at(-1)), { input: parseObject(json) ?? json })
      json = ''
    }
    if (event.type === 'message_delta') message = { ...message, ...readObject(event.delta), usage: event.usage }
  }
  return { ...message, content }
}

/** The response that a responses stream ends with. */
export function finalResponse(events: readonly SseEvent[]): Json {
  return readObject(parsed(events).findLast((event) => isObject(event.response))?.response)
}
