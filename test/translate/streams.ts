import { readFileSync } from 'node:fs'
import { sseDecoder, type SseEvent } from '../../src/gateway/sse/decode.ts'
import type { NewId } from '../../src/gateway/translate/chat.ts'
import type { StreamTranslator } from '../../src/gateway/translate/chat-answer.ts'
import { messagesStream } from '../../src/gateway/translate/messages-stream.ts'
import { isObject, type Json, parseObject, readObject } from '../../src/gateway/translate/read.ts'
import type { ResponsesFacts } from '../../src/gateway/translate/responses-request.ts'
import { responsesStream } from '../../src/gateway/translate/responses-stream.ts'

/** The fixtures are shaped after what these engines send; each says so in its first comment. */
export const FIXTURES = {
  whole: [
    'ollama-text.sse',
    'ollama-thinking-two-calls.sse',
    'llamacpp-text-then-call.sse',
    'llamacpp-cut-by-limit.sse',
    'vllm-interleaved-calls.sse',
    'vllm-stop-sequence.sse',
    'lmstudio-calls-without-index.sse',
    'lmstudio-garbage.sse',
  ],
  broken: ['llamacpp-error.sse', 'llamacpp-died.sse'],
} as const

export const ALL_FIXTURES = [...FIXTURES.whole, ...FIXTURES.broken]

export function fixture(name: string): Buffer {
  return readFileSync(new URL(`fixtures/${name}`, import.meta.url))
}

export function jsonFixture(name: string): unknown {
  return JSON.parse(fixture(name).toString())
}

/** Ids that count: the same input gives the same output. */
export function countingIds(): NewId {
  let next = 0
  return (prefix) => `${prefix}${String(++next)}`
}

export const NO_FACTS: ResponsesFacts = { tools: new Map(), echo: { tools: [] }, withheld: [] }

export function toMessages(stopSequences: string[] = []): StreamTranslator {
  return messagesStream({ model: 'svc/fast', newId: countingIds(), facts: { stopSequences } })
}

export function toResponses(facts: ResponsesFacts = NO_FACTS): StreamTranslator {
  return responsesStream({ model: 'svc/fast', createdAt: 1_762_000_000, newId: countingIds(), facts })
}

/** Everything that the translator makes of these bytes, read in these chunks. */
export function translate(translator: StreamTranslator, ...chunks: Uint8Array[]): SseEvent[] {
  const decoder = sseDecoder()
  const events = chunks.flatMap((chunk) => decoder.push(chunk)).flatMap((event) => translator.push(event))
  return [...events, ...translator.end()]
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

/** A message as a client of the messages style puts it together. */
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

/** The response that a stream of the responses style ends with. */
export function finalResponse(events: readonly SseEvent[]): Json {
  return readObject(parsed(events).findLast((event) => isObject(event.response))?.response)
}
