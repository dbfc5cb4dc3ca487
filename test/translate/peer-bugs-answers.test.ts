/** Bugs that other gateways had with answers, each by its report. */
import { describe, expect, it } from 'vitest'
import type { StreamTranslator } from '../../src/gateway/dialects/dialect.ts'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { readFailure } from '../../src/gateway/dialects/failures/failure.ts'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { CHECKS } from '../support/stream-grammar.ts'
import { pair } from './pairs.ts'
import { callDelta, chunks, delta, finalResponse, foldMessage, parsed } from './streams.ts'

const named = (...bodies: Json[]) => bodies.map((body) => ({ event: String(body.type), data: JSON.stringify(body) }))
const feed = (stream: StreamTranslator, ...events: SseEvent[]) => events.flatMap((event) => stream.push(event))
const messagesToChat = (body: Json = {}) => pair('chat', 'messages', { stream: true, ...body }).answer.stream()
const toResponses = (backend: 'chat' | 'messages', body: Json = {}) =>
  pair('responses', backend, { stream: true, ...body }).answer.stream()
const callsOf = (events: SseEvent[]): Json[] =>
  parsed(events).flatMap((chunk) =>
    readList(readObject(readObject(readList(chunk.choices)[0]).delta).tool_calls).map(readObject),
  )
const argumentsOf = (calls: Json[]): string => calls.map((call) => String(readObject(call.function).arguments)).join('')

const START = { type: 'message_start', message: { usage: { input_tokens: 1 } } }
const open = (index: number, block: Json) => ({ type: 'content_block_start', index, content_block: block })
const piece = (index: number, partial_json: string) => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json },
})
const stop = (index: number) => ({ type: 'content_block_stop', index })
const end = (stop_reason: string, usage: Json = {}) => ({ type: 'message_delta', delta: { stop_reason }, usage })
const STOP = { type: 'message_stop' }
const tool = (id: string) => ({ type: 'tool_use', id, name: 'read', input: {} })
const text = (index: number, said: string) => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'text_delta', text: said },
})

const CREATED = { type: 'response.created', sequence_number: 0, response: { id: 'r', object: 'response', output: [] } }
const last = (type: string, response: Json) => ({
  type: `response.${type}`,
  sequence_number: 9,
  response: { object: 'response', output: [], ...response },
})

describe('calls', () => {
  it('ollama#14816, ollama#17101: blocks with the same index are parts of their own, also without a stop', () => {
    const thinking = { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } }
    const texts = [open(0, { type: 'text', text: '' }), text(0, 'a')]
    const thoughts = [open(0, { type: 'thinking', thinking: '' }), thinking, stop(0)]
    const call = [open(0, tool('c')), piece(0, '{"b":1}'), stop(0), end('tool_use'), STOP]
    const events = feed(toResponses('messages'), ...named(START, ...texts, ...thoughts, ...call))
    expect(readList(finalResponse(events).output)).toMatchObject([
      { type: 'message', content: [{ text: 'a' }] },
      { type: 'reasoning', summary: [{ text: 'hm' }] },
      { type: 'function_call', call_id: 'c', arguments: '{"b":1}' },
    ])
  })

  it('any-llm#970: parallel calls have an index each', () => {
    const events = feed(
      messagesToChat(),
      ...named(START, open(0, tool('a')), stop(0), open(1, tool('b')), stop(1), end('tool_use'), STOP),
    )
    expect(
      callsOf(events)
        .filter(({ id }) => id !== undefined)
        .map(({ id, index }) => [id, index]),
    ).toEqual([
      ['a', 0],
      ['b', 1],
    ])
  })

  it('edutelligence#923: pieces of a call that is not the open one are kept', () => {
    const bodies = [
      callDelta(0, '{"a"', 'read', 'a'),
      callDelta(1, '{"b":1}', 'read', 'b'),
      callDelta(0, ':1}'),
      delta({}, 'tool_calls'),
    ]
    const stream = pair('messages', 'chat', { stream: true }).answer.stream()
    const message = foldMessage(feed(stream, ...chunks(...bodies, '[DONE]')))
    expect(message.content.map(({ input }) => input)).toEqual([{ a: 1 }, { b: 1 }])
  })

  it('envoy#1465: the empty object of an opened block is no part of the arguments', () => {
    const events = feed(
      messagesToChat(),
      ...named(START, open(0, tool('a')), piece(0, '{"x"'), piece(0, ':1}'), stop(0), end('tool_use'), STOP),
    )
    expect(argumentsOf(callsOf(events))).toBe('{"x":1}')
  })

  it('litellm#5063: a call without arguments has an empty object of them', () => {
    const events = feed(messagesToChat(), ...named(START, open(0, tool('a')), stop(0), end('tool_use'), STOP))
    expect(argumentsOf(callsOf(events))).toBe('{}')
  })

  it('vllm#34887: a fragment that comes with the name of the call is kept', () => {
    const bodies = [callDelta(0, '{"x"', 'read', 'a'), callDelta(0, ':1}'), delta({}, 'tool_calls'), '[DONE]']
    const [item] = readList(finalResponse(feed(toResponses('chat'), ...chunks(...bodies))).output)
    expect(item).toMatchObject({ type: 'function_call', arguments: '{"x":1}' })
  })

  it('9router#1371: a custom call comes back as one', () => {
    const stream = toResponses('messages', { tools: [{ type: 'custom', name: 'apply_patch' }] })
    const block = { type: 'tool_use', id: 'a', name: 'apply_patch', input: {} }
    const events = feed(
      stream,
      ...named(START, open(0, block), piece(0, '{"input":"*** Begin"}'), stop(0), end('tool_use'), STOP),
    )
    expect(CHECKS.responses(events)).toEqual([])
    expect(readList(finalResponse(events).output)[0]).toMatchObject({
      type: 'custom_tool_call',
      name: 'apply_patch',
      input: '*** Begin',
    })
  })
})

describe('reasoning', () => {
  it.each(['whole', 'streamed'])('litellm#16272, vercel/ai#8072: the thinking of Mistral is reasoning (%s)', (how) => {
    const thinking = (said: string) => [{ type: 'thinking', thinking: [{ type: 'text', text: said }] }]
    const answer = () => pair('messages', 'chat').answer
    const message = { content: [...thinking('Let me see'), { type: 'text', text: 'Done.' }] }
    const whole = answer().whole({ choices: [{ message, finish_reason: 'stop' }] })
    const deltas = [thinking('Let '), thinking('me see'), 'Done.'].map((content) => delta({ content }))
    const events = chunks(...deltas, delta({}, 'stop'), '[DONE]')
    const content =
      how === 'whole' && 'answer' in whole
        ? whole.answer.content
        : foldMessage(feed(answer().stream(), ...events)).content
    expect(content).toMatchObject([
      { type: 'thinking', thinking: 'Let me see' },
      { type: 'text', text: 'Done.' },
    ])
  })
})

describe('usage', () => {
  const usage = { input_tokens: 10, cache_read_input_tokens: 60, cache_creation_input_tokens: 30, output_tokens: 5 }

  it('ogx#6415, omlx#1487, browser-use#4294: cached tokens are counted once, and in the total', () => {
    const whole = pair('chat', 'messages').answer.whole({
      type: 'message',
      content: [],
      stop_reason: 'end_turn',
      usage,
    })
    expect(whole).toMatchObject({
      answer: {
        usage: {
          prompt_tokens: 100,
          total_tokens: 105,
          prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        },
      },
    })
    const response = {
      object: 'response',
      status: 'completed',
      output: [],
      usage: {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        output_tokens: 5,
      },
    }
    expect(pair('messages', 'responses').answer.whole(response)).toMatchObject({ answer: { usage } })
  })

  it('sglang#20830, envoy#1631: zeros at the end of a messages stream leave the prompt of its start', () => {
    const zeros = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 7 }
    const stream = messagesToChat({ stream_options: { include_usage: true } })
    const begins = { type: 'message_start', message: { usage } }
    const events = feed(stream, ...named(begins, open(0, { type: 'text' }), text(0, 'a'), end('end_turn', zeros), STOP))
    expect(parsed(events)).toContainEqual(
      expect.objectContaining({ usage: expect.objectContaining({ prompt_tokens: 100, completion_tokens: 7 }) }),
    )
  })

  it('Floway#350: cached tokens that a server counts beside its input are part of the prompt', () => {
    const cached = { prompt_tokens: 479, completion_tokens: 373, total_tokens: 14_164 }
    const answer = {
      choices: [{ message: { content: 'a' }, finish_reason: 'stop' }],
      usage: { ...cached, prompt_tokens_details: { cached_tokens: 13_312 } },
    }
    expect(pair('messages', 'chat').answer.whole(answer)).toMatchObject({
      answer: { usage: { input_tokens: 479, cache_read_input_tokens: 13_312, output_tokens: 373 } },
    })
  })
})

describe('ends', () => {
  it('axonhub#1738: message_stop completes a response', () => {
    const stream = toResponses('messages')
    const events = feed(
      stream,
      ...named(START, open(0, { type: 'text', text: '' }), text(0, 'a'), stop(0), end('end_turn'), STOP),
    )
    expect(events.at(-1)?.event).toBe('response.completed')
    expect(stream.state()).toBe('ended')
  })

  it('langwatch#6207: an incomplete response ends a message', () => {
    const stream = pair('messages', 'responses', { stream: true }).answer.stream()
    const events = feed(
      stream,
      ...named(
        CREATED,
        last('incomplete', { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
      ),
    )
    expect(parsed(events).slice(-2)).toMatchObject([{ delta: { stop_reason: 'max_tokens' } }, { type: 'message_stop' }])
  })

  it('cindy#1055: a stream that was cut off is a failure and not an answer that used up its limit', () => {
    const stream = toResponses('messages')
    feed(stream, ...named(START, open(0, { type: 'text', text: '' }), text(0, 'a')))
    expect(parsed(stream.end()).at(-1)).toMatchObject({ type: 'response.failed' })
  })

  it.each(DIALECT_NAMES)(
    'Switchyard#283, openclaw#120030, coddy-agent#225: a clean end of a %s stream without its last event is a failure',
    (backend) => {
      const client = backend === 'messages' ? 'chat' : 'messages'
      const stream = pair(client, backend, { stream: true }).answer.stream()
      const first = { chat: chunks(delta({ content: 'a' })), responses: named(CREATED), messages: named(START) }[
        backend
      ]
      const events = [...first.flatMap((event) => stream.push(event)), ...stream.end()]
      expect(stream.state()).toBe('failed')
      expect(CHECKS[client](events)).toEqual([])
      expect(events.map(({ data }) => data)).not.toContain('[DONE]')
    },
  )

  it('envoy#2697, gptel#1512: an overload in mid-stream reaches the caller as an error event', () => {
    const stream = toResponses('messages')
    const events = feed(
      stream,
      ...named(START, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    )
    expect(parsed(events).at(-1)).toMatchObject({
      response: { status: 'failed', error: { code: 'server_error', message: 'Overloaded' } },
    })
  })

  it('litellm#41826: the failure of a stream is in the shape of the client’s dialect', () => {
    const failed = last('failed', { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Slow down' } })
    const events = feed(pair('messages', 'responses', { stream: true }).answer.stream(), ...named(CREATED, failed))
    expect(events.at(-1)).toEqual({
      event: 'error',
      data: '{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}',
    })
  })

  it('bifrost#6784, ccr#1271: behind its finish reason, a chat stream waits for its usage only', () => {
    const streams = [toResponses('chat'), DIALECTS.chat.passStream({ model: 'm' })]
    for (const stream of streams) {
      feed(stream, ...chunks(delta({ content: 'a' })))
      expect(stream.state()).toBe('open')
      feed(stream, ...chunks(delta({}, 'stop')))
      expect(stream.state()).toBe('finishing')
      stream.end()
      expect(stream.state()).toBe('ended')
    }
  })

  it('waits for more where content came behind a finish reason', () => {
    const streams = [toResponses('chat'), DIALECTS.chat.passStream({ model: 'm' })]
    for (const stream of streams) {
      feed(stream, ...chunks(delta({ content: 'a' }, 'stop'), delta({ content: 'b' }, 'stop')))
      expect(stream.state()).toBe('open')
      stream.end()
      expect(stream.state()).toBe('ended')
    }
  })

  it('pi#5592: the stream has ended with message_stop, whatever the connection does', () => {
    const stream = messagesToChat()
    feed(stream, ...named(START, end('end_turn'), STOP))
    expect(stream.state()).toBe('ended')
    expect(stream.end()).toEqual([])
  })

  it('omlx#26: a prompt that is too long is refused in the words and codes that make agents compact', () => {
    const tooLong = readFailure({ error: { message: 'input length exceeds the context window' } })
    expect(DIALECTS.messages.failureAnswer(tooLong)).toMatchObject({
      status: 400,
      body: {
        error: { type: 'invalid_request_error', message: expect.stringMatching(/^prompt is too long/) as unknown },
      },
    })
    for (const words of ['prompt is too long: 9 tokens > 8 maximum', 'too many tokens']) {
      const { body } = DIALECTS.responses.failureAnswer(readFailure({ type: 'error', error: { message: words } }))
      expect(body).toMatchObject({ error: { code: 'context_length_exceeded' } })
    }
  })
})
