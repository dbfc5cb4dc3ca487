import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { cpuSecondsOf } from '../support/cpu-seconds.ts'
import { pair, PAIRS, RING } from './pairs.ts'

/** A session with an engine that counts the calls of every answer from zero: two answers with a call each. */
const HISTORY: Readonly<Record<Dialect, Json>> = {
  chat: {
    messages: [
      { role: 'user', content: 'Look.' },
      ...['a', 'b'].flatMap((path) => [
        { role: 'assistant', tool_calls: [chatCall(path)] },
        { role: 'tool', tool_call_id: 'call_0', content: `has ${path}` },
      ]),
    ],
  },
  responses: {
    input: [
      { role: 'user', content: 'Look.' },
      ...['a', 'b'].flatMap((path) => [
        { type: 'function_call', call_id: 'call_0', name: 'read', arguments: `{"path":"${path}"}` },
        { type: 'function_call_output', call_id: 'call_0', output: `has ${path}` },
      ]),
    ],
  },
  messages: {
    messages: [
      { role: 'user', content: 'Look.' },
      ...['a', 'b'].flatMap((path) => [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'call_0', name: 'read', input: { path } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0', content: `has ${path}` }] },
      ]),
    ],
  },
}

function chatCall(path: string): Json {
  return { id: 'call_0', type: 'function', function: { name: 'read', arguments: `{"path":"${path}"}` } }
}

/** The ids of the calls of a request, and those that its results have, in their order. */
const LINKS: Readonly<Record<Dialect, (request: Json) => { calls: unknown[]; results: unknown[] }>> = {
  chat({ messages }) {
    const all = readList(messages).map(readObject)
    return {
      calls: all.flatMap((message) => readList(message.tool_calls).map((call) => readObject(call).id)),
      results: all.flatMap(({ role, tool_call_id: id }) => (role === 'tool' ? [id] : [])),
    }
  },
  responses({ input }) {
    const idsOf = (wanted: string) =>
      readList(input)
        .map(readObject)
        .flatMap(({ type, call_id: id }) => (type === wanted ? [id] : []))
    return { calls: idsOf('function_call'), results: idsOf('function_call_output') }
  },
  messages({ messages }) {
    const blocks = readList(messages).flatMap((message) => readList(readObject(message).content).map(readObject))
    return {
      calls: blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : [])),
      results: blocks.flatMap(({ type, tool_use_id: id }) => (type === 'tool_result' ? [id] : [])),
    }
  },
}

describe('a conversation in which two calls have one id', () => {
  it.each(PAIRS)('has different ones when a $client client sends it to a $backend backend', ({ client, backend }) => {
    const { calls, results } = LINKS[backend](pair(client, backend, HISTORY[client]).request)
    expect(new Set(calls).size).toBe(2)
    expect(results).toEqual(calls)
    expect(LINKS[backend](pair(client, backend, HISTORY[client]).request).calls).toEqual(calls)
  })

  it('has the results of parallel calls in their order', () => {
    const messages = [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', tool_calls: [chatCall('a'), chatCall('b')] },
      { role: 'tool', tool_call_id: 'call_0', content: 'has a' },
      { role: 'tool', tool_call_id: 'call_0', content: 'has b' },
    ]
    const { calls, results } = LINKS.messages(pair('chat', 'messages', { messages }).request)
    expect(new Set(calls).size).toBe(2)
    expect(results).toEqual(calls)
  })

  it('has a result at the latest call where an earlier one was never carried out', () => {
    const input = [
      { type: 'function_call', call_id: 'call_0', name: 'read', arguments: '{}' },
      { role: 'user', content: 'Stop. Look again.' },
      { type: 'function_call', call_id: 'call_0', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_0', output: 'has a' },
    ]
    const { calls, results } = LINKS.messages(pair('responses', 'messages', { input }).request)
    expect(results).toEqual([calls[1]])
    expect(calls[0]).not.toBe(calls[1])
    const again = { type: 'function_call_output', call_id: 'call_0', output: 'sent again' }
    const { request } = pair('responses', 'messages', { input: [...input, again] })
    expect(LINKS.messages(request).results).toEqual([calls[1]])
    expect(JSON.stringify(request.messages)).toContain('sent again')
  })
})

describe('an answer that calls a tool', () => {
  const message = { role: 'assistant', tool_calls: [chatCall('c')] }
  const completion = { choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage: {} }
  const callOf = (history: Json) => {
    const answer = () => pair('messages', 'chat', history).answer
    const [whole, streamed] = [answer().whole(completion), answer().replay(completion)]
    if (!('answer' in whole) || !('events' in streamed)) throw new Error('The answer failed.')
    const [block] = readList(whole.answer.content).map(readObject)
    const opened = streamed.events.map(({ data }) => readObject(JSON.parse(data))).find(({ type }) => type === START)
    return { whole: block?.id, streamed: readObject(opened?.content_block).id }
  }
  const START = 'content_block_start'

  it('has a new id where the conversation has a call with its id', () => {
    const { whole, streamed } = callOf(HISTORY.messages)
    expect(whole).toMatch(/^call_\d+$/)
    expect(streamed).toMatch(/^call_\d+$/)
    expect([whole, streamed]).not.toContain('call_0')
  })

  it('keeps the id of its backend otherwise', () => {
    expect(callOf({ messages: [{ role: 'user', content: 'Look.' }] })).toEqual({ whole: 'call_0', streamed: 'call_0' })
  })
})

const MANY = 20_000
const repeat = <T>(make: (at: number) => T): T[] => Array.from({ length: MANY }, (_, at) => make(at))

/** Bodies with so many calls that anything but linear time exceeds the limits. */
const CONVERSATIONS: Readonly<Record<Dialect, (id: (at: number) => string) => Json>> = {
  chat: (id) => ({
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        tool_calls: repeat((at) => ({ id: id(at), type: 'function', function: { name: 'f', arguments: '{}' } })),
      },
      ...repeat((at) => ({ role: 'tool', tool_call_id: id(at), content: 'r' })),
    ],
  }),
  messages: (id) => ({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: repeat((at) => ({ type: 'tool_use', id: id(at), name: 'f', input: {} })) },
      { role: 'user', content: repeat((at) => ({ type: 'tool_result', tool_use_id: id(at), content: 'r' })) },
    ],
  }),
  responses: (id) => ({
    input: [
      { role: 'user', content: 'hi' },
      ...repeat((at) => ({ type: 'function_call', call_id: id(at), name: 'f', arguments: '{}' })),
      ...repeat((at) => ({ type: 'function_call_output', call_id: id(at), output: 'r' })),
    ],
  }),
}

it.each(RING)('thousands of calls are translated in seconds, from $client to $backend', async ({ client, backend }) => {
  for (const id of [() => 'call_1', (at: number) => `call_${at}`]) {
    const body = CONVERSATIONS[client](id)
    expect(await cpuSecondsOf(() => pair(client, backend, body))).toBeLessThan(1.5)
  }
})

it.each(['chat', 'messages'] as const)(
  'thousands of calls whose results come behind all of them are translated in seconds, to %s',
  async (backend) => {
    const calls = repeat((at) => [
      { type: 'function_call', call_id: `call_${at}`, name: 'f', arguments: '{}' },
      { role: 'user', content: 'Go on.' },
    ])
    const results = repeat((at) => ({ type: 'function_call_output', call_id: `call_${at}`, output: 'r' }))
    const body = { input: [...calls.flat(), ...results] }
    expect(await cpuSecondsOf(() => pair('responses', backend, body))).toBeLessThan(2)
  },
)

it.each(['messages', 'responses'] as const)(
  'thousands of calls in a stream are translated in seconds, for %s',
  async (client) => {
    const stream = pair(client, 'chat', { stream: true }).answer.stream()
    const seconds = await cpuSecondsOf(() => {
      for (let index = 0; index < MANY; index++) {
        const call = { index, id: `call_${index}`, type: 'function', function: { name: 'f', arguments: '{}' } }
        const choices = [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }]
        stream.push({ event: null, data: JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices }) })
      }
      stream.end()
    })
    expect(seconds).toBeLessThan(1.5)
  },
)

it('thousands of fragments of parallel calls are translated in seconds, wherever they are cut', async () => {
  const stream = pair('messages', 'chat', { stream: true }).answer.stream()
  const push = (...tool_calls: Json[]) =>
    stream.push({ event: null, data: JSON.stringify({ choices: [{ index: 0, delta: { tool_calls } }] }) })
  const called = (index: number, text: string) => ({ index, id: `${index}`, function: { name: 'f', arguments: text } })
  push(called(0, '{"a":"'), called(1, '{"b":"'))
  const seconds = await cpuSecondsOf(() => {
    for (let count = 0; count < 2 * MANY; count++) push({ index: 0, function: { arguments: '}' } })
  })
  expect(seconds).toBeLessThan(1.5)
  expect(JSON.stringify(push({ index: 0, function: { arguments: '"}' } }))).toContain('content_block_stop')
})
