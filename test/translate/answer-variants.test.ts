/** Answers as servers write them besides the vendors' way, and what a client of another dialect gets. */
import type { Message } from '@anthropic-ai/sdk/resources/messages'
import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { readFailure } from '../../src/gateway/dialects/failures/failure.ts'
import { readList, readObject, readText } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { ResponsesReader } from '../../src/gateway/dialects/responses/read-answer.ts'
import { nameTools } from '../../src/gateway/dialects/tools/tool-names.ts'
import { pair } from './pairs.ts'
import {
  callDelta,
  chunks,
  countingIds,
  delta,
  finalResponse,
  fixture,
  foldMessage,
  parsed,
  run,
  translate,
} from './streams.ts'
import { VENDOR_CAPS } from './vendor-caps.ts'

const named = (...bodies: Json[]) => bodies.map((body) => ({ event: String(body.type), data: JSON.stringify(body) }))

/** The message that a messages client gets of a stream of events. */
function streamed(backend: Dialect, ...events: { event: string | null; data: string }[]) {
  const stream = pair('messages', backend, { stream: true }).answer.stream()
  const out = events.flatMap((event) => stream.push(event))
  return { state: stream.state(), message: foldMessage([...out, ...stream.end()]) }
}

const wholeOf = (client: Dialect, backend: Dialect, body: unknown): Json => {
  const made = pair(client, backend).answer.whole(body)
  return 'answer' in made ? made.answer : { failed: made.failed.kind }
}

describe('llama.cpp’s server as a responses backend, whose events have no index', () => {
  const answered = (name: string): Json => {
    const stream = pair('chat', 'responses', { stream: true }).answer.stream()
    const bodies = parsed(translate(stream, fixture(`llama-server/responses-${name}-stream.http`)))
    const deltas = bodies.map((chunk) => readObject(readObject(readList(chunk.choices)[0]).delta))
    const textOf = (member: string) => deltas.map((delta) => readText(delta[member])).join('')
    const calls = deltas.flatMap((delta) => readList(delta.tool_calls).map(readObject))
    const called = calls.map(({ function: piece }) => String(readObject(piece).arguments)).join('')
    return { text: textOf('content'), thought: textOf('reasoning_content'), called }
  }

  it.each([
    ['greeting', { text: 'Grüß dich, 世界! 👋', thought: '', called: '' }],
    ['thought', { text: 'Good morning!', thought: 'The user greets me.\n', called: '' }],
    ['calls', { text: 'Both at once.\n\n', thought: '', called: '{"city": "Bern", "days": 1}{"path": "ü.txt"}' }],
    [
      'plan',
      {
        text: "I'll look at it.\n",
        thought: 'Look first.\n',
        called: '{"city": "Zürich", "days": 3}',
      },
    ],
  ])('has each text and each call once: %s', (name, expected) => {
    expect(answered(name)).toEqual(expected)
  })
})

describe('a responses backend', () => {
  const CREATED = { type: 'response.created', response: {} }
  const last = (type: string, response: Json = {}) => ({
    type: `response.${type}`,
    response: { output: [], ...response },
  })
  const added = (item: Json) => ({ type: 'response.output_item.added', output_index: 0, item })

  it('has its reasoning streamed where it gives no summary', () => {
    const piece = { type: 'response.reasoning_text.delta', output_index: 0, content_index: 0, delta: 'Hm.' }
    const stream = pair('messages', 'responses', { stream: true }).answer.stream()
    const started = named(CREATED, added({ type: 'reasoning' }), piece).flatMap((event) => stream.push(event))
    expect(parsed(started).at(-1)).toMatchObject({ delta: { thinking: 'Hm.' } })
  })

  it('has the text for a custom tool streamed', () => {
    const tools = [{ type: 'custom', custom: { name: 'patch' } }]
    const stream = pair('chat', 'responses', { stream: true, tools }, { caps: VENDOR_CAPS.responses }).answer.stream()
    const item = { type: 'custom_tool_call', call_id: 'c1', name: 'patch', input: '' }
    const piece = { type: 'response.custom_tool_call_input.delta', output_index: 0, delta: '*** Begin' }
    const out = named(CREATED, added(item), piece).flatMap((event) => stream.push(event))
    const tool_calls = [{ index: 0, custom: { input: '*** Begin' } }]
    expect(parsed(out).at(-1)).toMatchObject({ choices: [{ delta: { tool_calls } }] })
  })

  it('that says that a whole answer has failed has failed for this reason', () => {
    const error = { code: 'rate_limit_exceeded', message: 'Later.' }
    const failed = { failed: 'rateLimit' }
    expect(wholeOf('chat', 'responses', { object: 'response', status: 'failed', output: [], error })).toEqual(failed)
  })

  it('may give the arguments of a call only at their end', () => {
    const item = { type: 'function_call', call_id: 'a', name: 'read' }
    const done = { type: 'response.function_call_arguments.done', output_index: 0, arguments: '{"x":1}' }
    const { message } = streamed('responses', ...named(CREATED, added(item), done, last('completed')))
    expect(message.content).toMatchObject([{ type: 'tool_use', input: { x: 1 } }])
  })

  it('may write the arguments of a call as an object', () => {
    const item = { type: 'function_call', call_id: 'a', name: 'read' }
    const args = { x: 1 }
    const done = { type: 'response.function_call_arguments.done', output_index: 0, arguments: args }
    const { message } = streamed('responses', ...named(CREATED, added(item), done, last('completed')))
    expect(message.content).toMatchObject([{ type: 'tool_use', input: args }])
    const response = { object: 'response', status: 'completed', output: [{ ...item, arguments: args }] }
    expect(wholeOf('messages', 'responses', response)).toMatchObject({ content: [{ type: 'tool_use', input: args }] })
  })

  it('may name the tool of a call only at its end', () => {
    const item = { type: 'function_call', call_id: 'a', name: '', arguments: '' }
    const done = {
      type: 'response.output_item.done',
      output_index: 0,
      item: { ...item, name: 'read', arguments: '{}' },
    }
    const { message } = streamed('responses', ...named(CREATED, added(item), done, last('completed')))
    expect(message.content).toMatchObject([{ type: 'tool_use', name: 'read' }])
  })

  it('may begin without the event that starts a response', () => {
    const piece = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Yes.' }
    const stream = pair('messages', 'responses', { stream: true }).answer.stream()
    const types = parsed(named(piece).flatMap((event) => stream.push(event))).map(({ type }) => type)
    expect(types).toEqual(['message_start', 'content_block_start', 'content_block_delta'])
  })

  it('may give a text only at its end', () => {
    const done = { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Yes.' }
    const { message } = streamed('responses', ...named(CREATED, added({ type: 'message' }), done, last('completed')))
    expect(message.content).toMatchObject([{ type: 'text', text: 'Yes.' }])
  })

  it('may give a text only at its end, also where the answer was cut', () => {
    const done = { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Yes, b' }
    const end = last('incomplete', { incomplete_details: { reason: 'max_output_tokens' } })
    const { message } = streamed('responses', ...named(CREATED, added({ type: 'message' }), done, end))
    expect(message).toMatchObject({ content: [{ type: 'text', text: 'Yes, b' }], stop_reason: 'max_tokens' })
  })

  it('may write the arguments of a call in another way at their end', () => {
    const item = { type: 'function_call', call_id: 'a', name: 'read', arguments: '' }
    const piece = { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"x":1}' }
    const done = { type: 'response.output_item.done', output_index: 0, item: { ...item, arguments: '{ "x": 1 }' } }
    const { message } = streamed('responses', ...named(CREATED, added(item), piece, done, last('completed')))
    expect(message.content).toMatchObject([{ input: { x: 1 } }])
  })

  it('has its reasoning once where it gives both a summary and the text', () => {
    const deltas = ['reasoning_text', 'reasoning_summary_text'].map((form) => {
      return { type: `response.${form}.delta`, output_index: 0, delta: form }
    })
    const { message } = streamed(
      'responses',
      ...named(CREATED, added({ type: 'reasoning' }), ...deltas, last('completed')),
    )
    expect(message.content).toMatchObject([{ thinking: 'reasoning_text' }])
  })

  it('has the log probabilities once that it repeats at the end of a text', () => {
    const logprobs = [{ token: 'Yes', logprob: -0.1 }]
    const at = { output_index: 0, content_index: 0 }
    const piece = { type: 'response.output_text.delta', ...at, delta: 'Yes', logprobs }
    const content = [{ type: 'output_text', text: 'Yes', logprobs }]
    const done = { type: 'response.output_item.done', output_index: 0, item: { type: 'message', content } }
    const { answer } = pair('chat', 'responses', { logprobs: true })
    const collector = answer.collect()
    named(CREATED, added({ type: 'message' }), piece, done, last('completed')).forEach(collector.push)
    expect(collector.end()).toMatchObject({ answer: { choices: [{ logprobs: { content: logprobs } }] } })
  })

  it('has only its last item cut where several are open', () => {
    const called = (index: number) => {
      const item = { type: 'function_call', call_id: String(index), name: 'read', arguments: '' }
      return { type: 'response.output_item.added', output_index: index, item }
    }
    const end = last('incomplete', { incomplete_details: { reason: 'max_output_tokens' } })
    const read = new ResponsesReader({ newId: countingIds(), names: nameTools({ tools: [], turns: [] }, 64) })
    const events = named(CREATED, called(0), called(1), end).flatMap((event) => read.push(event))
    expect(events.flatMap((event) => (event.type === 'close' ? [event.cut] : []))).toEqual([false, true])
  })

  it('that names no tool has only failed if it is complete', () => {
    const item = { type: 'function_call', call_id: 'a', name: '', arguments: '' }
    const end = last('incomplete', { incomplete_details: { reason: 'max_output_tokens' } })
    expect(streamed('responses', ...named(CREATED, added(item), end)).message).toMatchObject({
      content: [],
      stop_reason: 'max_tokens',
    })
    expect(streamed('responses', ...named(CREATED, added(item), last('completed'))).state).toBe('failed')
  })

  it('that has an error in a whole answer has failed, whatever its status', () => {
    const error = { code: 'server_error', message: 'Broken.' }
    const answer = { object: 'response', status: 'completed', output: [], error }
    expect(wholeOf('chat', 'responses', answer)).toEqual({ failed: 'failed' })
  })

  it('says by the name of its last event that the answer was cut', () => {
    const end = last('incomplete', { incomplete_details: { reason: 'max_output_tokens' } })
    expect(streamed('responses', ...named(CREATED, end)).message.stop_reason).toBe('max_tokens')
  })

  it.each(['cancelled', 'in_progress', 'queued'])('has not answered with a response that is %s', (status) => {
    expect(wholeOf('chat', 'responses', { object: 'response', status, output: [] })).toEqual({ failed: 'failed' })
  })
})

describe('a messages backend', () => {
  const START = { type: 'message_start', message: { usage: {} } }
  const END = [{ type: 'message_delta', delta: { stop_reason: 'tool_use' } }, { type: 'message_stop' }]
  const opened = {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', id: 'a', name: 'read', input: { x: 1 } },
  }
  const stop = { type: 'content_block_stop', index: 0 }
  const argumentsFor = (...events: Json[]): string => {
    const stream = pair('chat', 'messages', { stream: true }).answer.stream()
    const deltas = parsed(named(...events).flatMap((event) => stream.push(event)))
    const calls = deltas.flatMap(({ choices }) =>
      readList(readObject(readObject(readList(choices)[0]).delta).tool_calls),
    )
    return calls.map((call) => String(readObject(readObject(call).function).arguments)).join('')
  }

  it('may give the arguments of a call when it opens the call', () => {
    expect(argumentsFor(START, opened, stop, ...END)).toBe('{"x":1}')
    const piece = {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: '{"y":2}' },
    }
    expect(argumentsFor(START, opened, piece, stop, ...END)).toBe('{"y":2}')
  })

  it('may write the arguments of a call as text', () => {
    const block = { ...opened.content_block, input: '{"x":1}' }
    expect(argumentsFor(START, { ...opened, content_block: block }, stop, ...END)).toBe('{"x":1}')
  })

  it('may have several calls open at once, each with its own arguments', () => {
    const second = { ...opened, index: 1, content_block: { ...opened.content_block, id: 'b', input: { z: 3 } } }
    const stopped = { ...stop, index: 1 }
    expect(argumentsFor(START, opened, second, stop, stopped, ...END)).toBe('{"x":1}{"z":3}')
    expect(argumentsFor(START, opened, second, stopped, stop, ...END)).toBe('{"x":1}{"z":3}')
  })

  it('may begin without the event that starts a message', () => {
    expect(argumentsFor(opened, stop, ...END)).toBe('{"x":1}')
    const stream = pair('responses', 'messages', { stream: true }).answer.stream()
    expect(parsed(named({ type: 'message_stop' }).flatMap((event) => stream.push(event))).at(-1)).toMatchObject({
      type: 'response.failed',
    })
  })

  it.each(['a', undefined])('that gives two calls the id %s gets two ids', (id) => {
    const use = { type: 'tool_use', id, name: 'read', input: {} }
    const answer = { type: 'message', content: [use, use], stop_reason: 'tool_use', usage: {} }
    const { choices } = wholeOf('chat', 'messages', answer)
    const calls = readList(readObject(readObject(readList(choices)[0]).message).tool_calls).map(readObject)
    expect(new Set(calls.map((call) => call.id)).size).toBe(2)
  })

  it('that names no tool has failed, if it is complete', () => {
    const use = { type: 'tool_use', id: 'a', input: {} }
    const answer = { type: 'message', content: [use], stop_reason: 'tool_use', usage: {} }
    expect(wholeOf('responses', 'messages', answer)).toEqual({ failed: 'failed' })
    const cut = { ...answer, stop_reason: 'max_tokens' }
    expect(wholeOf('responses', 'messages', cut)).toMatchObject({ status: 'incomplete', output: [] })
  })

  it('may report usage before it says that the last call was cut', () => {
    const usage = { type: 'message_delta', delta: {}, usage: { output_tokens: 5 } }
    const cut = { type: 'message_delta', delta: { stop_reason: 'max_tokens' } }
    const stream = pair('responses', 'messages', { stream: true }).answer.stream()
    const out = run(stream, ...named(START, opened, stop, usage, cut, { type: 'message_stop' }))
    expect(finalResponse(out).output).toMatchObject([{ type: 'function_call', status: 'incomplete' }])
  })

  it('that refuses has its explanation shown only where it wrote no text', () => {
    const stop_details = { type: 'refusal', explanation: 'Not allowed.' }
    const refused = (...content: Json[]) =>
      wholeOf('chat', 'messages', { type: 'message', content, stop_reason: 'refusal', stop_details, usage: {} }).choices
    expect(refused()).toMatchObject([{ message: { content: 'Not allowed.' } }])
    expect(refused({ type: 'text', text: 'No.' })).toMatchObject([{ message: { content: 'No.' } }])
  })

  it('that ends for a call and has none has ended as usual', () => {
    const answer = { type: 'message', content: [], stop_reason: 'tool_use', usage: {} }
    expect(wholeOf('chat', 'messages', answer)).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
  })

  it('may write an error without the form of its dialect', () => {
    const error = { code: 500, message: 'Context size has been exceeded.', type: 'server_error' }
    const stream = pair('chat', 'messages', { stream: true }).answer.stream()
    named(START).forEach((event) => stream.push(event))
    const out = stream.push({ event: 'error', data: JSON.stringify(error) })
    expect(parsed(out)).toMatchObject([{ error: { code: 'context_length_exceeded', message: error.message } }])
  })
})

describe('a chat client that streams', () => {
  const streamedFor = (body: Json, answer: Json): Json[] => {
    const made = pair('chat', 'responses', { stream: true, ...body }, { caps: VENDOR_CAPS.responses }).answer
    const replayed = made.replay({ object: 'response', status: 'completed', ...answer })
    return 'events' in replayed ? parsed(replayed.events) : []
  }

  it('gets the usage in a chunk of its own, if it asked for it', () => {
    const usage = { input_tokens: 3, output_tokens: 2 }
    const last = streamedFor({ stream_options: { include_usage: true } }, { output: [], usage }).at(-2)
    expect(last).toMatchObject({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } })
  })

  it('gets the text for a custom tool as such', () => {
    const tools = [{ type: 'custom', custom: { name: 'apply_patch' } }]
    const item = { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: '*** Begin' }
    const deltas = streamedFor({ tools }, { output: [item] }).flatMap(({ choices }) => readList(choices))
    const calls = deltas.flatMap((choice) => readList(readObject(readObject(choice).delta).tool_calls))
    expect(calls).toMatchObject([
      { id: 'c1', type: 'custom', custom: { name: 'apply_patch', input: '' } },
      { custom: { input: '*** Begin' } },
    ])
  })
})

describe('a chat backend', () => {
  const completion = (finish_reason: string, usage: Json = {}) => {
    return { choices: [{ index: 0, message: { content: 'Yes.' }, finish_reason }], usage }
  }

  it.each([
    ['length', 'max_tokens'],
    ['model_length', 'model_context_window_exceeded'],
    ['max_tokens', 'max_tokens'],
    ['MAX_TOKENS', 'max_tokens'],
    ['incomplete', 'max_tokens'],
    ['model_context_window_exceeded', 'model_context_window_exceeded'],
    ['content_filter', 'refusal'],
    ['sensitive', 'refusal'],
    ['eos', 'end_turn'],
  ])('that ends with %s has ended with %s', (finish, reason) => {
    expect(wholeOf('messages', 'chat', completion(finish))).toMatchObject({ stop_reason: reason })
  })

  it('that gives all calls of a whole answer one id has made several calls', () => {
    const call = (path: string) => ({
      id: 'a',
      type: 'function',
      function: { name: 'read', arguments: `{"path":"${path}"}` },
    })
    const choices = [
      { index: 0, message: { content: null, tool_calls: [call('a'), call('b')] }, finish_reason: 'stop' },
    ]
    const { content } = wholeOf('messages', 'chat', { choices })
    expect(content).toMatchObject([{ input: { path: 'a' } }, { input: { path: 'b' } }])
  })

  it('may repeat the name of a call behind its arguments', () => {
    const stream = pair('messages', 'chat', { stream: true }).answer.stream()
    const deltas = [callDelta(0, '{"a":1}', 'get'), callDelta(0, '', 'get'), delta({}, 'tool_calls')]
    expect(foldMessage(run(stream, ...chunks(...deltas))).content).toMatchObject([{ name: 'get', input: { a: 1 } }])
  })

  it('may give several calls one index, with an id and a name of their own', () => {
    const stream = pair('messages', 'chat', { stream: true }).answer.stream()
    const [first, second] = [callDelta(0, '{"a":1}', 'one', 'c1'), callDelta(0, '', 'two', 'c2')]
    const { content } = foldMessage(run(stream, ...chunks(first, second, callDelta(0, '{"b":2}'), delta({}, 'stop'))))
    expect(content).toMatchObject([
      { name: 'one', input: { a: 1 } },
      { name: 'two', input: { b: 2 } },
    ])
  })

  it('may be cut within several calls at once, which is no failure', () => {
    const stream = pair('messages', 'chat', { stream: true }).answer.stream()
    const deltas = [callDelta(0, '{"a"', 'one', 'c1'), callDelta(1, '{"b"', 'two', 'c2'), delta({}, 'length')]
    expect(foldMessage(run(stream, ...chunks(...deltas))).stop_reason).toBe('max_tokens')
    expect(stream.state()).toBe('ended')
  })

  it('has the log probabilities of a token without a text of its own', () => {
    const token = (logprob: number) => ({ token: '', logprob })
    const chunk = (content: string, logprob: number) => {
      return { choices: [{ index: 0, delta: { content }, logprobs: { content: [token(logprob)] } }] }
    }
    const stream = pair('responses', 'chat', { stream: true, top_logprobs: 1 }).answer.stream()
    const { output } = finalResponse(run(stream, ...chunks(chunk('a', -1), chunk('', -2), delta({}, 'stop'))))
    expect(output).toMatchObject([{ content: [{ text: 'a', logprobs: [token(-1), token(-2)] }] }])
  })

  it('may go on with the text for a custom tool behind a JSON object, after the next call has begun', () => {
    const called = (index: number, input: string, name?: string) => {
      return { tool_calls: [{ index, ...(name && { id: name, type: 'custom' }), custom: { name, input } }] }
    }
    const deltas = [called(0, '{"a":1}', 'one'), called(1, 'b', 'two'), called(0, ' and more'), called(2, '', 'three')]
    const tools = ['one', 'two', 'three'].map((name) => ({ type: 'custom', name }))
    const stream = pair('responses', 'chat', { stream: true, tools }, { caps: VENDOR_CAPS.chat }).answer.stream()
    const { output } = finalResponse(run(stream, ...chunks(...deltas.map((one) => delta(one)), delta({}, 'stop'))))
    expect(readList(output)).toMatchObject([{ input: '{"a":1} and more' }, { input: 'b' }, { input: '' }])
  })

  it.each([
    ...['error', 'abort', 'aborted', 'network_error', 'insufficient_system_resource'],
    'function_call_filter: MALFORMED_FUNCTION_CALL',
  ])('that ends with %s has failed', (finish) => {
    expect(wholeOf('messages', 'chat', completion(finish))).toEqual({ failed: 'failed' })
    const choices = [{ index: 0, finish_reason: finish }]
    expect(pair('messages', 'chat').answer.whole({ choices })).toMatchObject({ failed: { kind: 'failed' } })
  })

  it.each(['content_filter: PROHIBITED_CONTENT', 'content_filter: RECITATION'])(
    'may say more than %s, and have no message',
    (finish_reason) => {
      const choices = [{ index: 0, finish_reason }]
      expect(wholeOf('messages', 'chat', { choices })).toMatchObject({ content: [], stop_reason: 'refusal' })
      const stream = pair('responses', 'chat', { stream: true }).answer.stream()
      const events = run(stream, { event: null, data: JSON.stringify({ choices }) }, { event: null, data: '[DONE]' })
      expect(finalResponse(events)).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'content_filter' },
      })
    },
  )

  it('that reports a failure in its choice, as OpenRouter does, has failed for this reason', () => {
    const error = { code: 429, message: 'Try again later.' }
    const choice = { index: 0, error, finish_reason: 'error' }
    const failed = { failed: { kind: 'rateLimit', message: error.message } }
    const whole = { choices: [{ ...choice, message: { content: '' } }] }
    expect(pair('messages', 'chat').answer.whole(whole)).toMatchObject(failed)
    const chunk = { event: null, data: JSON.stringify({ choices: [{ ...choice, delta: { content: '' } }] }) }
    expect(JSON.stringify(pair('messages', 'chat', { stream: true }).answer.stream().push(chunk))).toContain(
      error.message,
    )
  })

  it.each<[string, Json, Json]>([
    [
      'xAI’s, with the reasoning beside the completion',
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 18, completion_tokens_details: { reasoning_tokens: 3 } },
      { input_tokens: 10, output_tokens: 8 },
    ],
    [
      'Google’s, with the reasoning in the total only',
      { prompt_tokens: 9, completion_tokens: 1, total_tokens: 103 },
      { input_tokens: 9, output_tokens: 94, output_tokens_details: { thinking_tokens: 93 } },
    ],
    [
      'Google’s, of an answer that is reasoning only',
      { prompt_tokens: 9, total_tokens: 55 },
      { input_tokens: 9, output_tokens: 46, output_tokens_details: { thinking_tokens: 46 } },
    ],
    [
      'DeepSeek’s',
      { prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 4 },
      { input_tokens: 6, cache_read_input_tokens: 4 },
    ],
    ['Moonshot’s', { prompt_tokens: 10, completion_tokens: 5, cached_tokens: 4 }, { cache_read_input_tokens: 4 }],
    [
      'tokens that Alibaba has written to a cache',
      {
        prompt_tokens: 10,
        completion_tokens: 2,
        prompt_tokens_details: {
          cached_tokens: 1,
          cache_creation_input_tokens: 4,
          cache_creation: { ephemeral_5m_input_tokens: 4 },
          cache_type: 'ephemeral',
        },
      },
      { input_tokens: 5, cache_read_input_tokens: 1, cache_creation_input_tokens: 4 },
    ],
    [
      'one that counts more long writes than writes',
      {
        prompt_tokens: 10,
        prompt_tokens_details: { cache_write_tokens: 4, cache_write_tokens_details: { ttl_12h_tokens: 6 } },
      },
      { cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 4 } },
    ],
  ])('has this usage: %s', (_name, usage, expected) => {
    expect(wholeOf('messages', 'chat', completion('stop', usage))).toMatchObject({ usage: expected })
  })
})

describe('a failure', () => {
  it.each([
    'Input is too long for requested model.',
    'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).',
    'This model’s maximum prompt length is 131072 but the request contains 537812 tokens.',
    'Invalid request: Your request exceeded model token limit: 262144',
    'context window exceeds limit',
    'The number of tokens to keep from the initial prompt is greater than the context length.',
    "The prompt is longer than the model's context.",
    'The request exceeds the available context size.',
    'Prompt too long',
    'input length and `max_tokens` exceed context limit: 9 + 1 > 8',
    "This model's maximum context length is 8192 tokens.",
    'The decoder prompt (length 9000) is longer than the maximum model length of 8192.',
    'Please reduce the length of the messages or completion.',
    'Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).',
    'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.',
    'Prompt has 256468 tokens, but the configured context size is 256000 tokens',
    'The sum of prompt length (38049.0), query length (0) should not exceed max_num_tokens (32768)',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4500 `inputs` tokens',
    'Input validation error: `inputs` must have less than 4095 tokens. Given: 4500',
    'Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.',
    'prompt token count of 184573 exceeds the limit of 128000',
    '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]',
    'Prompt exceeds max length',
    'tokens in request more than max tokens allowed',
    'Total tokens of image and text exceed max message tokens.',
    'Prompt tokens too long',
    "Your input exceeds this model's context window.",
    "You passed 9 input tokens and requested 8 output tokens. However, the model's context length is only 16 tokens.",
    'The estimated number of input and maximum output tokens (9) exceeded this model context window limit (8).',
    'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)',
    'Trying to keep the first 9 tokens when context the overflows. However, the model is loaded with context length 8.',
  ])('is about the length of the prompt: %s', (message) => {
    expect(readFailure({ error: { message } }, 400).kind).toBe('context')
  })

  it.each([
    ['GitHub Models', { code: 'tokens_limit_reached', message: 'Request body too large for gpt-5 model.' }, 413],
    ['GitHub Copilot', { code: 'model_max_prompt_tokens_exceeded', message: 'Too large.' }, 400],
  ])('is about the length of the prompt by its code: %s', (_name, error, status) => {
    expect(readFailure({ error }, status).kind).toBe('context')
  })

  it('of too many tokens in a minute is about the rate', () => {
    const message = 'Too many tokens, please wait before trying again.'
    expect(readFailure({ message }, 429).kind).toBe('rateLimit')
    expect(readFailure({ error: { type: 'ThrottlingException', message } }, 400).kind).toBe('rateLimit')
  })
})

describe('an answer of the messages dialect', () => {
  it('has every member that the vendor’s types have, except citations where there are none', () => {
    const tool_calls = [{ id: 'a', type: 'function', function: { name: 'read', arguments: '{}' } }]
    const choices = [{ index: 0, message: { content: 'Yes.', tool_calls }, finish_reason: 'tool_calls' }]
    expect(wholeOf('messages', 'chat', { choices })).toEqual({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'svc/fast',
      content: [
        { type: 'text', text: 'Yes.' },
        { type: 'tool_use', id: 'a', name: 'read', input: {}, caller: { type: 'direct' } },
      ],
      container: null,
      diagnostics: null,
      stop_reason: 'tool_use',
      stop_sequence: null,
      stop_details: null,
      usage: {
        input_tokens: 0,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: null,
        output_tokens: 0,
        output_tokens_details: null,
        server_tool_use: null,
        service_tier: null,
        inference_geo: null,
        speed: null,
      },
    } satisfies Omit<Message, 'content'> & { content: unknown })
  })
})
