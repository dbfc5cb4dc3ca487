import { describe, expect, it } from 'vitest'
import { readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { checkMessagesStream, checkResponsesStream } from '../support/stream-grammar.ts'
import { append, at, before, change, drop, named, renumber, set, twice } from './stream-faults.ts'
import type { Fault } from './stream-faults.ts'
import { fixture, parsed, toMessages, toResponses, translate } from './streams.ts'

describe('checkMessagesStream', () => {
  const sound = (): SseEvent[] => translate(toMessages(), fixture('llama-server/chat-plan-stream.http'))
  const failed = (): SseEvent[] => translate(toMessages(), fixture('llama-server/chat-failed-stream.http'))

  it('finds nothing wrong with a sound stream, a ping or a failure', () => {
    expect(checkMessagesStream(sound())).toEqual([])
    expect(checkMessagesStream(before('content_block_start', named('ping'))(sound()))).toEqual([])
    expect(checkMessagesStream(failed())).toEqual([])
  })

  it.each<[string, Fault]>([
    ['no message_start', drop('message_start')],
    ['two message_starts', twice('message_start')],
    ['no message_delta', drop('message_delta')],
    ['two message_deltas', twice('message_delta')],
    ['no message_stop', drop('message_stop')],
    ['something behind the end', append(named('ping'))],
    ['an error behind the end', append(named('error', { error: { type: 'api_error', message: 'x' } }))],
    ['a block that never opens', drop('content_block_start')],
    ['a block that opens twice', twice('content_block_start')],
    ['a block that never closes', drop('content_block_stop')],
    ['a block that closes twice', twice('content_block_stop')],
    ['two blocks with one index', set('content_block_start', 'index', 0, 1)],
    ['a delta for another block', set('content_block_delta', 'index', 7)],
    ['a stop for another block', set('content_block_stop', 'index', 7)],
    ['a text delta in a thinking block', set('content_block_delta', 'delta', { type: 'text_delta', text: 'x' })],
    ['a delta of an unknown type', set('content_block_delta', 'delta.type', 'x_delta')],
    ['a delta without text', set('content_block_delta', 'delta.thinking', null)],
    ['a block of an unknown type', set('content_block_start', 'content_block.type', 'x')],
    ['a text block that opens with text', set('content_block_start', 'content_block.text', 'x', 1)],
    ['a thinking block without a signature', (events) => events.toSpliced(at(events, 'content_block_stop') - 1, 1)],
    ['a call that opens with input', set('content_block_start', 'content_block.input', { a: 1 }, 2)],
    ['a call without a name', set('content_block_start', 'content_block.name', '', 2)],
    ['a call whose id the vendor refuses', set('content_block_start', 'content_block.id', 'a:b', 2)],
    ['a call with half of its input', drop('content_block_delta', -1)],
    ['an empty text block', (events) => events.filter(({ data }) => !data.includes('text_delta'))],
    ['an unknown stop reason', set('message_delta', 'delta.stop_reason', 'stop')],
    ['no stop reason', set('message_delta', 'delta.stop_reason', null)],
    ['end_turn after a call', set('message_delta', 'delta.stop_reason', 'end_turn')],
    ['a stop sequence without that reason', set('message_delta', 'delta.stop_sequence', 'END')],
    ['usage without input tokens', set('message_delta', 'usage.input_tokens', undefined)],
    ['usage that is no count', set('message_delta', 'usage.output_tokens', -1)],
    ['a message that starts with usage missing', set('message_start', 'message.usage', undefined)],
    ['a message without an id', set('message_start', 'message.id', '')],
    ['a message that starts with content', set('message_start', 'message.content', [{ type: 'text' }])],
    ['a message that starts with its end', set('message_start', 'message.stop_reason', 'end_turn')],
    ['a message of the user', set('message_start', 'message.role', 'user')],
    ['an event under another name', (events) => events.with(1, { event: 'ping', data: events[1]?.data ?? '' })],
    ['an unknown event', before('message_delta', named('message_pause'))],
    ['a ping before the start', (events) => [named('ping'), ...events]],
    ['data that is no JSON', (events) => events.with(2, { event: 'content_block_delta', data: 'x' })],
    ['nothing at all', () => []],
  ])('finds %s', (_, plant) => {
    expect(checkMessagesStream(plant(sound()))).not.toEqual([])
  })

  it.each<[string, Fault]>([
    ['tool_use without a call', set('message_delta', 'delta.stop_reason', 'tool_use')],
    ['stop_sequence without the sequence', set('message_delta', 'delta.stop_reason', 'stop_sequence')],
  ])('finds %s', (_, plant) => {
    expect(checkMessagesStream(plant(translate(toMessages(), fixture('ollama-text.sse'))))).not.toEqual([])
  })

  it('finds two calls with one id', () => {
    const events = translate(toMessages(), fixture('vllm-interleaved-calls.sse'))
    expect(
      checkMessagesStream(set('content_block_start', 'content_block.id', 'chatcmpl-tool-1', 2)(events)),
    ).not.toEqual([])
  })

  it.each<[string, Fault]>([
    ['an error without a message', set('error', 'error.message', '')],
    ['a message_stop behind an error', append(named('message_stop'))],
  ])('finds %s', (_, plant) => {
    expect(checkMessagesStream(plant(failed()))).not.toEqual([])
  })
})

describe('checkResponsesStream', () => {
  const sound = (): SseEvent[] => translate(toResponses(), fixture('llama-server/chat-plan-stream.http'))
  const failed = (): SseEvent[] => translate(toResponses(), fixture('llama-server/chat-failed-stream.http'))

  it('finds nothing wrong with a sound stream or a failure', () => {
    expect(checkResponsesStream(renumber(sound()))).toEqual([])
    expect(checkResponsesStream(failed())).toEqual([])
  })

  it.each<[string, Fault]>([
    ['no created', drop('response.created')],
    ['no in_progress', drop('response.in_progress')],
    ['two created', twice('response.created')],
    ['no end', drop('response.completed')],
    ['two ends', twice('response.completed')],
    ['an error event', append(named('error', { message: 'x' }))],
    ['an error event in the middle', before('response.output_item.done', named('error', { message: 'x' }))],
    ['an unknown event', before('response.completed', named('response.pause'))],
    ['an item that is never added', drop('response.output_item.added', 1)],
    ['an item that is added twice', twice('response.output_item.added', 1)],
    ['an item that is never done', drop('response.output_item.done')],
    ['an item that is done twice', twice('response.output_item.done')],
    ['two items with one output_index', set('response.output_item.added', 'output_index', 0, 1)],
    ['two items with one id', set('response.output_item.added', 'item.id', 'rs_2', 1)],
    ['an item done at another index', set('response.output_item.done', 'output_index', 0, 1)],
    ['an item that is added as done', set('response.output_item.added', 'item.status', 'completed', 1)],
    ['an item that is done in progress', set('response.output_item.done', 'item.status', 'in_progress', 1)],
    ['an item that changes its type', set('response.output_item.done', 'item.type', 'custom_tool_call', 2)],
    ['an item of an unknown type', set('response.output_item.added', 'item.type', 'x')],
    ['a message of nobody', set('response.output_item.added', 'item.role', undefined, 1)],
    ['a call without an id to answer', set('response.output_item.added', 'item.call_id', '', 2)],
    ['a call that starts with arguments', set('response.output_item.added', 'item.arguments', '{}', 2)],
    ['reasoning without a summary', set('response.output_item.added', 'item.summary', undefined)],
    ['a text part that never opens', drop('response.content_part.added')],
    ['a text part that never closes', drop('response.content_part.done')],
    ['a part at another place', set('response.content_part.added', 'content_index', 1)],
    ['a part that is done with other text', set('response.content_part.done', 'part.text', 'x')],
    ['a text that is never done', drop('response.output_text.done')],
    ['a text that is done with other text', set('response.output_text.done', 'text', 'x')],
    ['a text that loses a delta', drop('response.output_text.delta')],
    [
      'a text that goes on after it was done',
      (events) =>
        events.toSpliced(
          at(events, 'response.output_text.done') + 1,
          0,
          ...events.slice(at(events, 'response.output_text.delta')).slice(0, 1),
        ),
    ],
    ['a delta for an unknown item', set('response.output_text.delta', 'item_id', 'x')],
    ['a delta at another index', set('response.output_text.delta', 'output_index', 0)],
    ['a delta that is no text', set('response.output_text.delta', 'delta', 1)],
    ['a summary part that never opens', drop('response.reasoning_summary_part.added')],
    ['a summary part that never closes', drop('response.reasoning_summary_part.done')],
    ['a summary that is never done', drop('response.reasoning_summary_text.done')],
    ['a summary that loses a delta', drop('response.reasoning_summary_text.delta')],
    ['arguments that are never done', drop('response.function_call_arguments.done')],
    ['arguments that lose a delta', drop('response.function_call_arguments.delta')],
    ['arguments that end up as others', set('response.function_call_arguments.done', 'arguments', '{}')],
    ['an item that says something else in the end', set('response.output_item.done', 'item.arguments', '{}', 2)],
    ['an empty output', set('response.completed', 'response.output', [])],
    [
      'an output in another order',
      change('response.completed', (event) => ({ ...event, response: { ...readObject(event.response), output: [] } })),
    ],
    ['a response that changes its id', set('response.completed', 'response.id', 'resp_x')],
    ['a response without a model', set('response.created', 'response.model', '')],
    ['a response that starts done', set('response.created', 'response.status', 'completed')],
    ['a response that ends in progress', set('response.completed', 'response.status', 'in_progress')],
    ['an end without usage', set('response.completed', 'response.usage', null)],
    ['usage without cached tokens', set('response.completed', 'response.usage.input_tokens_details', {})],
    ['usage without reasoning tokens', set('response.completed', 'response.usage.output_tokens_details', undefined)],
    ['success with an error', set('response.completed', 'response.error', { code: 'x', message: 'y' })],
    [
      'success with a reason for being incomplete',
      set('response.completed', 'response.incomplete_details', { reason: 'x' }),
    ],
    ['nothing at all', () => []],
  ])('finds %s', (_, plant) => {
    expect(checkResponsesStream(renumber(plant(sound())))).not.toEqual([])
  })

  it.each<[string, Fault]>([
    [
      'no sequence numbers',
      (events) =>
        events.map((event) => ({
          ...event,
          data: JSON.stringify({ ...parsed([event])[0], sequence_number: undefined }),
        })),
    ],
    ['a gap in the sequence', drop('response.output_text.delta')],
    ['an event under another name', (events) => events.with(4, { event: null, data: events[4]?.data ?? '' })],
  ])('finds %s', (_, plant) => {
    expect(checkResponsesStream(plant(sound()))).not.toEqual([])
  })

  it.each<[string, Fault]>([
    ['a failure without an error', set('response.failed', 'response.error', null)],
    ['a failure that lists what was not done', set('response.failed', 'response.output', [{ type: 'message' }])],
    ['a success behind a failure', append(named('response.completed'))],
  ])('finds %s', (_, plant) => {
    expect(checkResponsesStream(renumber(plant(failed())))).not.toEqual([])
  })

  it('finds an incomplete answer without its reason', () => {
    const events = translate(toResponses(), fixture('llama-server/chat-call-cut-stream.http'))
    expect(checkResponsesStream(events)).toEqual([])
    expect(checkResponsesStream(set('response.incomplete', 'response.incomplete_details', null)(events))).not.toEqual(
      [],
    )
  })
})
