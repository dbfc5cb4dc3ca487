import { describe, expect, it } from 'vitest'
import { passChatStream } from '../../src/gateway/dialects/chat/pass-stream.ts'
import type { StreamTranslator } from '../../src/gateway/dialects/dialect.ts'
import { backendFailed } from '../../src/gateway/dialects/failures/failure.ts'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { encodeEvent } from '../../src/gateway/dialects/sse/encode.ts'
import { checkChatStream, checkMessagesStream, checkResponsesStream } from '../support/stream-grammar.ts'
import {
  ALL_FIXTURES,
  cutEverywhere,
  decode,
  finalResponse,
  FIXTURES,
  fixture,
  foldMessage,
  run,
  toMessages,
  toResponses,
  translate,
} from './streams.ts'

type Subject = { dialect: string; make: () => StreamTranslator; check: (events: readonly SseEvent[]) => string[] }

const SUBJECTS: Subject[] = [
  { dialect: 'messages', make: () => toMessages(['END']), check: checkMessagesStream },
  { dialect: 'responses', make: () => toResponses(), check: checkResponsesStream },
  // Chunks pass in this dialect as the engine wrote them, so only what is added here is checked.
  {
    dialect: 'chat',
    make: () => passChatStream({ model: 'svc/fast' }),
    check: (events) => checkChatStream(events).filter(isOurs),
  },
]

function isOurs(violation: string): boolean {
  return !/object is not|id is missing|no index|choices is not|begins without/.test(violation)
}

describe.each(SUBJECTS)('a stream in the $dialect dialect', ({ make, check }) => {
  it.each(ALL_FIXTURES)('is the same when %s is cut at every byte', (name) => {
    const bytes = fixture(name)
    const written = (...chunks: Uint8Array[]): string =>
      translate(make(), ...chunks)
        .map(encodeEvent)
        .join('')
    const whole = written(bytes)
    for (const chunks of cutEverywhere(bytes)) expect(written(...chunks)).toBe(whole)
  })

  it.each(ALL_FIXTURES)('keeps its grammar with %s', (name) => {
    expect(check(translate(make(), fixture(name)))).toEqual([])
  })

  it.each(ALL_FIXTURES)('ends as a failure wherever the connection breaks in %s', (name) => {
    const sent = decode(fixture(name))
    // A break inside of an event is one behind the event before.
    for (let count = 0; count <= sent.length; count += 1) {
      const broken = make()
      const failing = { ...broken, end: () => broken.fail(backendFailed('The engine was cut off.')) }
      const events = run(failing, ...sent.slice(0, count))
      expect(check(events)).toEqual([])
      expect(broken.state()).not.toBe('open')
    }
  })
})

describe('what a messages client puts together', () => {
  it.each<[string, { content: Json[]; stop_reason: string; usage?: Json }]>([
    [
      'ollama-text.sse',
      {
        content: [{ type: 'text', text: 'Grüß dich, 世界! 👋🏽' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 11, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 },
      },
    ],
    [
      'ollama-thinking-two-calls.sse',
      {
        content: [
          { type: 'thinking', thinking: 'The user wants two files. 🙂', signature: 'svc-local-reasoning' },
          { type: 'tool_use', id: 'call_a1', name: 'read_file', input: { path: 'a.txt', from: 1 } },
          { type: 'tool_use', id: 'call_b2', name: 'read_file', input: { path: 'b.txt', from: 2 } },
        ],
        stop_reason: 'tool_use',
      },
    ],
    [
      'llama-server/chat-plan-stream.http',
      {
        content: [
          { type: 'thinking', thinking: 'Look first.\n', signature: 'svc-local-reasoning' },
          { type: 'text', text: "I'll look at it.\n" },
          { type: 'tool_use', name: 'get_weather', input: { city: 'Zürich', days: 3 } },
        ],
        stop_reason: 'tool_use',
        usage: { input_tokens: 624, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 18 },
      },
    ],
    [
      'llama-server/chat-greeting-stream.http',
      {
        content: [{ type: 'text', text: 'Grüß dich, 世界! 👋' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 21, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 16 },
      },
    ],
    ['llama-server/chat-cut-stream.http', { content: [{ type: 'text', text: 'Grü' }], stop_reason: 'max_tokens' }],
    [
      'llama-server/chat-thought-stream.http',
      {
        content: [
          { type: 'thinking', thinking: 'The user greets me.\n' },
          { type: 'text', text: 'Good morning!' },
        ],
        stop_reason: 'end_turn',
      },
    ],
    // This engine does not say which stop sequence it was.
    [
      'llama-server/chat-stop-sequence-stream.http',
      { content: [{ type: 'text', text: 'one two' }], stop_reason: 'end_turn' },
    ],
    [
      'llama-server/chat-call-stream.http',
      { content: [{ type: 'tool_use', input: { city: 'Zürich', days: 3 } }], stop_reason: 'tool_use' },
    ],
    [
      'llama-server/chat-calls-stream.http',
      {
        content: [
          { type: 'text', text: 'Both at once.\n\n' },
          { type: 'tool_use', name: 'get_weather', input: { city: 'Bern', days: 1 } },
          { type: 'tool_use', name: 'read_file', input: { path: 'ü.txt' } },
        ],
        stop_reason: 'tool_use',
      },
    ],
    [
      'llama-server/chat-call-cut-stream.http',
      {
        content: [{ type: 'tool_use', name: 'get_weather', input: '{"city": "Zürich", "days":' }],
        stop_reason: 'max_tokens',
      },
    ],
    [
      'vllm-interleaved-calls.sse',
      {
        content: [
          { type: 'thinking', thinking: 'Both at once.', signature: 'svc-local-reasoning' },
          { type: 'tool_use', id: 'chatcmpl-tool-1', name: 'search', input: { q: 'cats' } },
          { type: 'tool_use', id: 'chatcmpl-tool-2', name: 'fetch', input: { url: 'http://a' } },
        ],
        stop_reason: 'tool_use',
        usage: { input_tokens: 36, cache_creation_input_tokens: 0, cache_read_input_tokens: 64, output_tokens: 40 },
      },
    ],
    ['vllm-stop-sequence.sse', { content: [{ type: 'text', text: 'one two ' }], stop_reason: 'stop_sequence' }],
    [
      'lmstudio-calls-without-index.sse',
      {
        content: [
          { type: 'text', text: 'Ok.' },
          { type: 'tool_use', id: '301', name: 'list_files', input: {} },
          { type: 'tool_use', id: '302', name: 'read_file', input: { path: 'ü.txt' } },
        ],
        stop_reason: 'tool_use',
      },
    ],
    ['lmstudio-garbage.sse', { content: [{ type: 'text', text: 'Still here' }], stop_reason: 'end_turn' }],
  ])('of %s', (name, expected) => {
    expect(foldMessage(translate(toMessages(['END']), fixture(name)))).toMatchObject(expected)
  })
})

describe('what a responses client ends up with', () => {
  it.each<[string, string, Json[]]>([
    ['ollama-text.sse', 'completed', [{ type: 'message', content: [{ text: 'Grüß dich, 世界! 👋🏽' }] }]],
    [
      'ollama-thinking-two-calls.sse',
      'completed',
      [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'The user wants two files. 🙂' }] },
        { type: 'function_call', call_id: 'call_a1', name: 'read_file', arguments: '{"path":"a.txt","from":1}' },
        { type: 'function_call', call_id: 'call_b2', name: 'read_file', arguments: '{"path":"b.txt","from":2}' },
      ],
    ],
    [
      'vllm-interleaved-calls.sse',
      'completed',
      [
        { type: 'reasoning' },
        { type: 'function_call', call_id: 'chatcmpl-tool-1', arguments: '{"q": "cats"}' },
        { type: 'function_call', call_id: 'chatcmpl-tool-2', arguments: '{"url": "http://a"}' },
      ],
    ],
    [
      'llama-server/chat-plan-stream.http',
      'completed',
      [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Look first.\n' }] },
        { type: 'message', content: [{ text: "I'll look at it.\n" }] },
        { type: 'function_call', name: 'get_weather', arguments: '{"city": "Zürich", "days": 3}' },
      ],
    ],
    [
      'llama-server/chat-calls-stream.http',
      'completed',
      [
        { type: 'message', content: [{ text: 'Both at once.\n\n' }] },
        { type: 'function_call', name: 'get_weather', arguments: '{"city": "Bern", "days": 1}' },
        { type: 'function_call', name: 'read_file', arguments: '{"path": "ü.txt"}' },
      ],
    ],
    [
      'llama-server/chat-call-cut-stream.http',
      'incomplete',
      [{ type: 'function_call', status: 'incomplete', arguments: '{"city": "Zürich", "days":' }],
    ],
    ['llama-server/chat-cut-stream.http', 'incomplete', [{ type: 'message', status: 'incomplete' }]],
    ['lmstudio-garbage.sse', 'completed', [{ type: 'message', content: [{ text: 'Still here' }] }]],
    ['llama-server/chat-failed-stream.http', 'failed', []],
    ['llama-server/chat-died-stream.http', 'failed', []],
  ])('of %s: %s', (name, status, output) => {
    expect(finalResponse(translate(toResponses(), fixture(name)))).toMatchObject({ status, output })
  })
})

describe('a chat stream through the chat dialect', () => {
  it.each(FIXTURES.whole)('%s goes by the service model id and ends with [DONE]', (name) => {
    const events = translate(passChatStream({ model: 'svc/fast' }), fixture(name))
    expect(events.at(-1)).toEqual({ event: null, data: '[DONE]' })
    const models = events.slice(0, -1).map(({ data }) => readObject(JSON.parse(data)).model)
    expect(new Set(models)).toEqual(new Set(['svc/fast']))
  })

  it.each(FIXTURES.broken)('%s ends with an error and without [DONE]', (name) => {
    const last = translate(passChatStream({ model: 'svc/fast' }), fixture(name)).at(-1)
    expect(readObject(JSON.parse(last?.data ?? ''))).toMatchObject({ error: { message: expect.any(String) as string } })
  })

  it.each<[string, string, string]>([
    [
      'as engines write it',
      '{"id":"x", "model":"qwen3:8b","choices":[{"index":0,"delta":{"content":"a\\u00fc"}}],"n":1.0}',
      '{"id":"x", "model":"svc/fast","choices":[{"index":0,"delta":{"content":"a\\u00fc"}}],"n":1.0}',
    ],
    ['with spaces', '{"choices":[],"model" : "qwen3:8b"}', '{"choices":[],"model" : "svc/fast"}'],
    [
      'inside of something else first',
      '{"x":{"model":"a"},"choices":[],"model":"a"}',
      '{"x":{"model":"a"},"choices":[],"model":"svc/fast"}',
    ],
    [
      'inside of something else later',
      '{"model":"a","choices":[],"x":{"model":"a"}}',
      '{"model":"svc/fast","choices":[],"x":{"model":"a"}}',
    ],
    [
      'in the text',
      '{"model":"a","choices":[{"delta":{"content":"\\"model\\":\\"a\\""}}]}',
      '{"model":"svc/fast","choices":[{"delta":{"content":"\\"model\\":\\"a\\""}}]}',
    ],
    [
      'with spaces, and inside of something else without',
      '{"model" : "a","choices":[],"x":{"model":"a"}}',
      '{"model" : "svc/fast","choices":[],"x":{"model":"a"}}',
    ],
    ['nowhere', '{"choices":[]}', '{"model":"svc/fast","choices":[]}'],
  ])('changes nothing of a chunk but the model, %s', (_, sent, expected) => {
    expect(passChatStream({ model: 'svc/fast' }).push({ event: null, data: sent })).toEqual([
      { event: null, data: expected },
    ])
  })

  it('is a failure when the engine only says that it is done', () => {
    expect(passChatStream({ model: 'm' }).push({ event: null, data: '[DONE]' })).toEqual([
      { event: null, data: expect.stringContaining('error') },
    ])
  })
})

it('has fixtures of calls that end in every dialect with as many calls as were made', () => {
  const calls = FIXTURES.whole.map((name) => {
    const message = foldMessage(translate(toMessages(), fixture(name))).content.filter(
      ({ type }) => type === 'tool_use',
    )
    const response = readList(finalResponse(translate(toResponses(), fixture(name))).output).map(readObject)
    return [message.length, response.filter(({ type }) => type === 'function_call').length]
  })
  expect(calls.every(([messages, responses]) => messages === responses)).toBe(true)
})
