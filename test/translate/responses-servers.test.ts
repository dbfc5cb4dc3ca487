/** The order, the indexes and the ids of the events of servers that write the responses dialect in their own way. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { pair } from './pairs.ts'
import { foldMessage, parsed } from './streams.ts'

type Event = readonly [type: string, index: number | null, more: Json]

function toEvents(events: readonly Event[], output: readonly Json[] = []) {
  const all: readonly Event[] = [
    ['created', null, { response: {} }],
    ...events,
    ['completed', null, { response: { output } }],
  ]
  return all.map(([name, index, more]) => {
    const body = { type: `response.${name}`, ...(index !== null && { output_index: index }), ...more }
    return { event: body.type, data: JSON.stringify(body) }
  })
}

/** The content that a messages client gets of a stream. */
function contentOf(events: readonly Event[], output: readonly Json[] = []) {
  const stream = pair('messages', 'responses', { stream: true }).answer.stream()
  return foldMessage([...toEvents(events, output).flatMap((event) => stream.push(event)), ...stream.end()]).content
}

const reasoning = (id: string, ...texts: string[]) => ({
  item: { type: 'reasoning', id, summary: [], content: texts.map((text) => ({ type: 'reasoning_text', text })) },
})
const message = (id: string, ...texts: string[]) => ({
  item: { type: 'message', id, content: texts.map((text) => ({ type: 'output_text', text })) },
})
const call = (id: string, name: string, args: string) => ({
  item: { type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: args },
})
const part = (item_id: string, content_index: number) => ({ item_id, content_index, part: { type: 'output_text' } })
const delta = (item_id: string, text: string, more: Json = {}) => ({ item_id, delta: text, ...more })

const THOUGHT = { type: 'thinking', thinking: 'Look first.' }
const TEXT = { type: 'text', text: 'On it.' }
const READ = { type: 'tool_use', id: 'a', name: 'read', input: { x: 1 } }
const CALLS = [call('a', 'read', '{"x":1}'), call('b', 'write', '{"y":2}')]
const WRITE = { type: 'tool_use', id: 'b', name: 'write', input: { y: 2 } }

describe('a stream of a responses backend', () => {
  it.each<[string, unknown[], Event[]]>([
    [
      'that gives a text and all calls behind it one index, as Ollama',
      [TEXT, READ, WRITE],
      [
        ['output_item.added', 0, message('m')],
        ['content_part.added', 0, part('m', 0)],
        ['output_text.delta', 0, delta('m', 'On it.', { content_index: 0 })],
        ['output_item.added', 0, call('a', 'read', '')],
        ['function_call_arguments.delta', 0, delta('fc_a', '{"x":1}')],
        ['function_call_arguments.done', 0, { item_id: 'fc_a', arguments: '{"x":1}' }],
        ['output_item.done', 0, call('a', 'read', '{"x":1}')],
        ['output_item.added', 0, call('b', 'write', '')],
        ['function_call_arguments.delta', 0, delta('fc_b', '{"y":2}')],
        ['output_item.done', 0, call('b', 'write', '{"y":2}')],
      ],
    ],
    [
      'that ends a text with the index of a call that has begun meanwhile',
      [TEXT, READ],
      [
        ['output_item.added', 0, message('m')],
        ['output_text.delta', 0, delta('m', 'On it.', { content_index: 0 })],
        ['output_item.added', 0, call('a', 'read', '')],
        ['function_call_arguments.delta', 0, delta('fc_a', '{"x":1}')],
        ['output_item.done', 1, message('m', 'On it.')],
        ['output_item.done', 0, call('a', 'read', '{"x":1}')],
      ],
    ],
    [
      'that ends reasoning with the index of the next item and a new id, as SGLang',
      [THOUGHT, TEXT],
      [
        ['output_item.added', 0, reasoning('i0')],
        ['content_part.added', 0, part('i0', 0)],
        ['reasoning_text.delta', 0, delta('i0', 'Look first.', { content_index: 0 })],
        ['reasoning_text.done', 1, { item_id: 'i0', text: 'Look first.' }],
        ['output_item.done', 1, reasoning('rs_1', 'Look first.')],
        ['output_item.added', 1, message('i1')],
        ['content_part.added', 1, part('i1', 0)],
        ['output_text.delta', 1, delta('i1', 'On it.', { content_index: 0 })],
        ['output_item.done', 2, message('i1', 'On it.')],
      ],
    ],
    [
      'that counts the contents of all items together, as vLLM',
      [THOUGHT, TEXT],
      [
        ['output_item.added', 0, reasoning('i0')],
        ['reasoning_text.delta', 0, delta('i0', 'Look first.', { content_index: 0 })],
        ['output_item.done', 0, reasoning('i0', 'Look first.')],
        ['output_item.added', 1, message('i1')],
        ['content_part.added', 1, part('i1', 1)],
        ['output_text.delta', 1, delta('i1', 'On ', { content_index: 1 })],
        ['output_text.delta', 1, delta('i1', 'it.', { content_index: 1 })],
        ['output_text.done', 1, { item_id: 'i1', content_index: 1, text: 'On it.' }],
        ['output_item.done', 1, message('i1', 'On it.')],
      ],
    ],
    [
      'that counts each delta as a content, as vLLM did',
      [THOUGHT, TEXT],
      [
        ['output_item.added', 0, reasoning('i0')],
        ['reasoning_text.delta', 0, delta('i0', 'Look ', { content_index: 1 })],
        ['reasoning_text.delta', 0, delta('i0', 'first.', { content_index: 2 })],
        ['output_item.done', 0, reasoning('i0', 'Look first.')],
        ['output_item.added', 1, message('i1')],
        ['content_part.added', 1, part('i1', 0)],
        ['output_text.delta', 1, delta('i1', 'On ', { content_index: 1 })],
        ['output_text.delta', 1, delta('i1', 'it.', { content_index: 2 })],
        ['output_text.done', 1, { item_id: 'i1', content_index: 3, text: 'On it.' }],
        ['output_item.done', 1, message('i1', 'On it.')],
      ],
    ],
    [
      'that writes another id in each event, as GitHub Copilot',
      [TEXT, READ, WRITE],
      [
        ['output_item.added', 0, message('1')],
        ['content_part.added', 0, part('2', 0)],
        ['output_text.delta', 0, delta('3', 'On ', { content_index: 0 })],
        ['output_text.delta', 0, delta('4', 'it.', { content_index: 0 })],
        ['output_item.done', 0, message('5', 'On it.')],
        ['output_item.added', 1, { item: { ...call('a', 'read', '').item, id: '6' } }],
        ['output_item.added', 2, { item: { ...call('b', 'write', '').item, id: '7' } }],
        ['function_call_arguments.delta', 2, delta('8', '{"y":2}')],
        ['function_call_arguments.delta', 1, delta('9', '{"x":1}')],
        ['output_item.done', 1, { item: { ...call('a', 'read', '{"x":1}').item, id: '10' } }],
        ['output_item.done', 2, { item: { ...call('b', 'write', '{"y":2}').item, id: '11' } }],
      ],
    ],
    [
      'that gives calls only when they are done, behind a text of the same index',
      [TEXT, READ, WRITE],
      [
        ['output_item.added', 0, message('m')],
        ['output_text.delta', 0, delta('m', 'On it.', { content_index: 0 })],
        ['output_item.done', 0, call('a', 'read', '{"x":1}')],
        ['output_item.done', 0, call('b', 'write', '{"y":2}')],
      ],
    ],
  ])('%s, has each part once', (_, expected, events) => {
    const output = [reasoning('z1', 'Look first.'), message('z2', 'On it.'), ...CALLS].map(({ item }) => item)
    for (const content of [contentOf(events), contentOf(events, output.slice(0, expected.includes(READ) ? 4 : 2))]) {
      expect(content).toMatchObject(expected)
      expect(content).toHaveLength(expected.length)
    }
  })

  it.each<[string, Event[]]>([
    ['without events of any item', []],
    ['where an item was only announced', [['output_item.added', 0, message('m')]]],
    ['with an event of no item', [['queued', null, {}]]],
    ['with the events of the text only', [['output_item.done', 0, message('m', 'On it.')]]],
    ['with the events of the call only', [['output_item.done', 0, call('a', 'read', '{"x":1}')]]],
    [
      'with the events of both, with other ids',
      [
        ['output_item.done', 0, message('m2', 'On it.')],
        ['output_item.done', 1, call('a', 'read', '{"x":1}')],
      ],
    ],
  ])('has a text and a call once that its last event has, %s', (_, events) => {
    const content = contentOf(events, [message('m', 'On it.').item, call('a', 'read', '{"x":1}').item])
    expect(content).toHaveLength(2)
    expect(content).toEqual(
      expect.arrayContaining([TEXT, READ].map((part) => expect.objectContaining(part) as unknown)),
    )
  })

  it('may have the arguments of calls that have begun in its last event only', () => {
    const events: Event[] = [
      ['output_item.added', 0, call('a', 'read', '')],
      ['output_item.added', 1, call('b', 'write', '')],
      ['function_call_arguments.delta', 1, delta('fc_b', '{"y":')],
    ]
    const output = CALLS.map(({ item }) => item)
    expect(contentOf(events, output)).toMatchObject([READ, WRITE])
  })

  it('may have a message with several texts, each with its own deltas', () => {
    const events: Event[] = [
      ['output_item.added', 0, message('m')],
      ['content_part.added', 0, part('m', 0)],
      ['output_text.delta', 0, delta('m', 'One.', { content_index: 0 })],
      ['content_part.added', 0, part('m', 1)],
      ['output_text.delta', 0, delta('m', 'Two.', { content_index: 1 })],
      ['output_item.done', 0, message('m', 'One.', 'Two.')],
    ]
    expect(contentOf(events)).toMatchObject([{ text: 'One.' }, { text: 'Two.' }])
  })

  it('streams a text behind reasoning that was announced as a text, as SGLang does', () => {
    const stream = pair('messages', 'responses', { stream: true }).answer.stream()
    const events = toEvents([
      ['output_item.added', 0, reasoning('i0')],
      ['content_part.added', 0, part('i0', 0)],
      ['reasoning_text.delta', 0, delta('i0', 'Look first.', { content_index: 0 })],
      ['output_item.done', 1, reasoning('rs_1', 'Look first.')],
      ['output_item.added', 1, message('i1')],
      ['output_text.delta', 1, delta('i1', 'On it.', { content_index: 0 })],
    ])
    const streamed = parsed(events.slice(0, -1).flatMap((event) => stream.push(event)))
    expect(streamed.at(-1)).toMatchObject({ delta: { text: 'On it.' } })
  })
})
