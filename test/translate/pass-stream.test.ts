import { describe, expect, it } from 'vitest'
import {
  isCompletion,
  isEmbeddingList,
  isMessage,
  isResponse,
  isTokenCount,
} from '../../src/gateway/dialects/answer-shapes.ts'
import { passChatStream } from '../../src/gateway/dialects/chat/pass-stream.ts'
import { backendFailed } from '../../src/gateway/dialects/failures/failure.ts'
import { passMessagesStream } from '../../src/gateway/dialects/messages/pass-stream.ts'
import { MESSAGES } from '../../src/gateway/dialects/messages/traits.ts'
import { renameAnswer } from '../../src/gateway/dialects/passing/rename-model.ts'
import { passResponsesStream } from '../../src/gateway/dialects/responses/pass-stream.ts'
import { isResponseStream } from '../../src/gateway/dialects/responses/traits.ts'
import { makeSseDecoder } from '../../src/gateway/dialects/sse/decode.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { encodeEvent } from '../../src/gateway/dialects/sse/encode.ts'
import { byteByByte } from '../support/upstream.ts'
import { parsed, run } from './streams.ts'

const named = (...bodies: { type: string }[]): SseEvent[] =>
  bodies.map((body) => ({ event: body.type, data: JSON.stringify(body) }))
const messages = (...events: SseEvent[]) => run(passMessagesStream({ model: 'svc/fast' }), ...events)
const responses = (...events: SseEvent[]) => run(passResponsesStream({ model: 'svc/fast' }), ...events)

const START = { type: 'message_start', message: { id: 'm', model: 'qwen3:8b' } }
const STOP = { type: 'message_stop' }
const CREATED = { type: 'response.created', sequence_number: 0, response: { id: 'r', model: 'qwen3:8b', output: [] } }

describe('a whole answer of an engine that speaks the dialect', () => {
  it.each([
    ['names the service model', '{"id":"1","model":"q","choices":[]}', '{"id":"1","model":"svc/fast","choices":[]}'],
    [
      'whatever the order and the spaces',
      '{\n "choices": [{"model":"deep"}],\n "model" : "q" }',
      '{\n "choices": [{"model":"deep"}],\n "model" : "svc/fast" }',
    ],
    [
      'keeps numbers as they are',
      '{"model":"q","choices":[12345678901234567890,1.0]}',
      '{"model":"svc/fast","choices":[12345678901234567890,1.0]}',
    ],
    ['that names no model gets none', '{"choices":[]}', '{"choices":[]}'],
  ])('%s', (_name, sent, expected) => {
    expect(renameAnswer(Buffer.from(sent), 'svc/fast', isCompletion)?.toString()).toBe(expected)
  })

  it.each(['"model"', 'oops', '', '[]', '{"error":"Unexpected endpoint"}', '{"choices":"none"}'])(
    'is none where it has another shape: %s',
    (sent) => {
      expect(renameAnswer(Buffer.from(sent), 'svc/fast', isCompletion)).toBeNull()
    },
  )

  it.each([
    ['a message', isMessage, { type: 'message', content: [], usage: {} }],
    ['a response', isResponse, { object: 'response', output: [] }],
    ['a list of embeddings', isEmbeddingList, { data: [{ embedding: [1] }] }],
    ['a count of tokens', isTokenCount, { input_tokens: 0 }],
  ])('is known by its shape: %s', (_name, isAnswer, body) => {
    expect(isAnswer(body)).toBe(true)
    for (const name of Object.keys(body)) expect(isAnswer({ ...body, [name]: 'else' })).toBe(false)
  })
})

describe('a messages stream of an engine', () => {
  it('names the service model at its start and nowhere else', () => {
    const delta = { type: 'content_block_delta', delta: { partial_json: '{"message":{"model":"qwen3:8b"}}' } }
    const tool = { type: 'content_block_start', content_block: { input: { model: 'x', message: 'y' } } }
    expect(parsed(messages(...named(START, tool, delta, STOP)))).toEqual([
      { type: 'message_start', message: { id: 'm', model: 'svc/fast' } },
      tool,
      delta,
      STOP,
    ])
  })

  it('names none where the engine names none', () => {
    const start = { type: 'message_start', message: { id: 'm' } }
    expect(parsed(messages(...named(start, STOP)))).toEqual([start, STOP])
  })

  it('ends once', () => {
    expect(messages(...named(START, STOP, STOP), { event: null, data: '[DONE]' }).length).toBe(2)
  })

  it('gets the names of its events where the engine leaves them out', () => {
    expect(messages({ event: null, data: JSON.stringify(STOP) })).toEqual(named(STOP))
  })

  it.each<[string, SseEvent[]]>([
    ['ends early', named(START)],
    ['says nothing', []],
    ['says what is no JSON', [...named(START), { event: null, data: 'oops' }]],
    ['says that it failed', named(START, { type: 'error', error: { message: 'x' } } as never)],
    ['says so by the name of the event only', [...named(START), { event: 'error', data: '{"message":"x"}' }]],
    ['reports it as in the chat dialect', [...named(START), { event: null, data: '{"error":{"message":"x"}}' }]],
  ])('is a failure where the engine %s', (_name, events) => {
    const stream = passMessagesStream({ model: 'svc/fast' })
    expect(parsed(run(stream, ...events)).at(-1)).toMatchObject({ type: 'error' })
    expect(stream.state()).toBe('failed')
  })
})

describe('a chat stream of an engine', () => {
  it.each<[string, object, object]>([
    ['is too long', { code: 400, type: 'exceed_context_size_error' }, { code: 'context_length_exceeded' }],
    [
      'is too long for what is left',
      { code: 500, type: 'server_error', message: 'Context size has been exceeded.' },
      { code: 'context_length_exceeded' },
    ],
    ['comes too early', { type: 'rate_limit_exceeded' }, { type: 'rate_limit_error', code: 'rate_limit_exceeded' }],
    ['fails', {}, { type: 'api_error', code: 'upstream_failed' }],
  ])('says why the engine refuses a request that %s', (_name, error, expected) => {
    const event = { event: null, data: JSON.stringify({ error: { message: 'no', ...error } }) }
    expect(parsed(run(passChatStream({ model: 'svc/fast' }), event))).toMatchObject([{ error: expected }])
  })

  it('is not about to end while it has another choice than the one that has ended', () => {
    const stream = passChatStream({ model: 'svc/fast' })
    const push = (index: number, finish_reason: string | null) =>
      stream.push({
        event: null,
        data: JSON.stringify({ choices: [{ index, delta: { content: 'a' }, finish_reason }] }),
      })
    push(0, null)
    push(1, null)
    push(0, 'stop')
    expect(stream.state()).toBe('open')
    push(1, 'stop')
    stream.push({ event: null, data: '[DONE]' })
    expect(stream.state()).toBe('ended')
  })
})

describe('a responses stream of an engine', () => {
  it('names the service model in every response and nowhere else', () => {
    const delta = { type: 'response.output_text.delta', delta: '"response":{"model":"qwen3:8b"}' }
    const end = { type: 'response.completed', response: { metadata: { model: 'x' }, model: 'qwen3:8b' } }
    expect(parsed(responses(...named(CREATED, delta, end)))).toEqual([
      { ...CREATED, response: { ...CREATED.response, model: 'svc/fast' } },
      delta,
      { ...end, response: { metadata: { model: 'x' }, model: 'svc/fast' } },
    ])
  })

  it.each<[string, SseEvent[], object]>([
    ['ends early', named(CREATED), { sequence_number: 1, response: { id: 'r', status: 'failed' } }],
    ['says nothing', [], { sequence_number: 0, response: { id: 'resp_unknown', status: 'failed', output: [] } }],
    [
      'says `error`',
      named(CREATED, { type: 'error', message: 'no slot' } as never),
      { sequence_number: 1, response: { id: 'r', error: { code: 'server_error', message: 'no slot' } } },
    ],
    [
      'fails as in the chat dialect',
      [...named(CREATED), { event: null, data: '{"error":{"message":"no slot"}}' }],
      { sequence_number: 1, response: { error: { code: 'server_error', message: 'no slot' } } },
    ],
    [
      'says that the context is too long',
      named({ type: 'error', error: { type: 'exceed_context_size_error', message: 'too long' } } as never),
      {
        sequence_number: 0,
        response: { id: 'resp_unknown', created_at: 0, error: { code: 'context_length_exceeded' } },
      },
    ],
    [
      'fails after an event without a response',
      named(CREATED, { type: 'response.output_text.delta' }, { type: 'error', message: 'no slot' } as never),
      { sequence_number: 2, response: { id: 'r', model: 'svc/fast', status: 'failed' } },
    ],
  ])('ends with response.failed where the engine %s', (_name, events, expected) => {
    expect(parsed(responses(...events)).at(-1)).toMatchObject({ type: 'response.failed', ...expected })
  })
})

describe('a stream that its clients can put together', () => {
  const placed = { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: {} }
  const end = (response: object = {}) => ({
    type: 'response.completed',
    sequence_number: 2,
    response: { object: 'response', status: 'completed', output: [], usage: { output_tokens: 15 }, ...response },
  })
  const stream = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

  it.each<[string, string]>([
    ['with all that they need', stream(CREATED, placed, end())],
    ['with [DONE] behind it', `${stream(CREATED, placed, end())}data: [DONE]\n\n`],
    ['cut off, and says so', stream(CREATED, end({ status: 'incomplete', usage: { output_tokens: 16 } }))],
  ])('is one %s', (_name, sent) => {
    expect(isResponseStream(sent, 16)).toBe(true)
  })

  it.each<[string, string]>([
    ['without numbers', stream({ ...CREATED, sequence_number: undefined }, end())],
    ['with items without a place', stream(CREATED, { ...placed, output_index: undefined }, end())],
    ['with parts without a place', stream(CREATED, { type: 'x', sequence_number: 1, item_id: 'i' }, end())],
    ['cut off, and says it were completed', stream(CREATED, end({ usage: { output_tokens: 16 } }))],
    ['without an end', stream(CREATED, placed)],
    ['that fails', stream(CREATED, { ...end(), type: 'response.failed' })],
    ['that ends without the response', stream(CREATED, { ...end(), response: undefined })],
    ['as a whole', JSON.stringify(end().response)],
  ])('is none %s', (_name, sent) => {
    expect(isResponseStream(sent, 16)).toBe(false)
  })
})

describe('a messages stream as bytes', () => {
  const pass = (chunks: readonly Buffer[]) => {
    const decoder = makeSseDecoder()
    const stream = passMessagesStream({ model: 'svc/fast' })
    const events = chunks.flatMap((chunk) => decoder.push(chunk).flatMap((event) => stream.push(event)))
    return { events, stream }
  }

  it('is the same wherever it is cut', () => {
    const sent = Buffer.from(named(START, STOP).map(encodeEvent).join('').replaceAll('\n', '\r\n'))
    const { events, stream } = pass(byteByByte(sent.toString()))
    expect(events).toEqual(pass([sent]).events)
    expect(stream.state()).toBe('ended')
    expect(stream.fail(backendFailed('x'))).toEqual([])
  })

  it('is kept alive by a comment until the message has begun, then by a ping', () => {
    expect(MESSAGES.keepAlive(false)).toBe(': keep-alive\n\n')
    expect(MESSAGES.keepAlive(true)).toBe('event: ping\ndata: {"type":"ping"}\n\n')
  })
})
