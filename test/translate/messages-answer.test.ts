import { describe, expect, it } from 'vitest'
import { backendFailed } from '../../src/gateway/dialects/failures/failure.ts'
import { readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { checkMessagesStream } from '../support/stream-grammar.ts'
import { completion, fold, json, stream, types } from './messages-answers.ts'
import { callDelta, chunks, delta, jsonFixture, parsed, run, toMessages } from './streams.ts'

describe('the stop reason', () => {
  const one = callDelta(0, '{"a":1}', 'get', 'c1')
  it.each<[string, unknown[], string]>([
    ['a whole answer', [delta({ content: 'a' }, 'stop')], 'end_turn'],
    ['the token limit', [delta({ content: 'a' }, 'length')], 'max_tokens'],
    ['a call', [one, delta({}, 'tool_calls')], 'tool_use'],
    ['a call that the engine calls a stop', [one, delta({}, 'stop')], 'tool_use'],
    [
      'a call of the old kind',
      [delta({ function_call: { name: 'get', arguments: '{}' } }, 'function_call')],
      'tool_use',
    ],
    ['the token limit inside a call', [one, delta({}, 'length')], 'max_tokens'],
    ['a filter', [delta({ content: 'a' }, 'content_filter')], 'refusal'],
    ['an unknown reason', [delta({ content: 'a' }, 'tired')], 'end_turn'],
    ['calls that were announced and not made', [delta({ content: 'a' }, 'tool_calls')], 'end_turn'],
  ])('of %s', (_, deltas, reason) => {
    expect(fold(...deltas).stop_reason).toBe(reason)
  })

  it('names the stop sequence where the engine tells which one it was', () => {
    const stopped = (stop_reason: unknown): unknown => ({
      choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop', stop_reason }],
    })
    expect(fold(stopped('END'))).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' })
    expect(fold(stopped('<|eot|>'))).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null })
    expect(fold(one, stopped('END'))).toMatchObject({ stop_reason: 'tool_use', stop_sequence: null })
    expect(fold(stopped(151645))).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null })
  })
})

describe('usage', () => {
  const usage = (prompt: number, completion: number, cached?: number): Json => ({
    choices: [],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      prompt_tokens_details: cached === undefined ? null : { cached_tokens: cached },
    },
  })

  it('is what was reported last, not the sum of all reports', () => {
    const message = fold(
      { ...(delta({ content: 'a' }) as Json), usage: usage(10, 1).usage },
      delta({}, 'stop'),
      usage(10, 2),
      usage(10, 3),
    )
    expect(message.usage).toMatchObject({ input_tokens: 10, output_tokens: 3 })
  })

  it('is not forgotten when chunks without it follow', () => {
    const message = fold(delta({ content: 'a' }), usage(10, 2), { ...readObject(delta({}, 'stop')), usage: null })
    expect(message.usage).toMatchObject({ input_tokens: 10, output_tokens: 2 })
  })

  it('counts cached tokens once', () => {
    expect(fold(delta({ content: 'a' }, 'stop'), usage(100, 5, 80)).usage).toMatchObject({
      input_tokens: 20,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 80,
      output_tokens: 5,
    })
  })

  it('never goes below zero, whatever the engine counts', () => {
    expect(fold(delta({ content: 'a' }, 'stop'), usage(10, 5, 80)).usage).toMatchObject({
      input_tokens: 0,
      cache_read_input_tokens: 10,
    })
  })

  it('is there even when the engine reports none', () => {
    expect(fold(delta({ content: 'a' }, 'stop')).usage).toMatchObject({ input_tokens: 0, output_tokens: 0 })
  })

  it('comes before the end although it follows the finish reason', () => {
    const events = stream(delta({ content: 'a' }, 'stop'), usage(7, 5))
    expect(parsed(events).at(-2)).toMatchObject({ type: 'message_delta', usage: { input_tokens: 7 } })
  })
})

describe('a stream that breaks', () => {
  const last = (events: SseEvent[]): Json => readObject(parsed(events).at(-1))

  it.each<[string, unknown[]]>([
    ['ends without a reason', [delta({ content: 'a' })]],
    ['ends before it began', []],
    ['says only that it is done', ['[DONE]']],
    ['sends an error', [delta({ content: 'a' }), { error: { message: 'out of memory' } }]],
    ['sends an error as text', [delta({ content: 'a' }), { error: 'out of memory' }]],
    [
      'sends an error in an older shape',
      [delta({ content: 'a' }), { object: 'error', message: 'out of memory', code: 50000 }],
    ],
    ['sends an error first', [{ error: { message: 'out of memory' } }]],
    ['sends data that is not JSON', [delta({ content: 'a' }), '{"choices":[']],
    ['gives up', [delta({ content: 'a' }, 'error'), '[DONE]']],
    ['goes on after its error', [{ error: { message: 'x' } }, delta({ content: 'a' }, 'stop'), '[DONE]']],
  ])('is never a success: the engine %s', (_, bodies) => {
    const events = run(toMessages(), ...chunks(...bodies))
    expect(checkMessagesStream(events)).toEqual([])
    expect(last(events)).toMatchObject({ type: 'error', error: { type: 'api_error' } })
    expect(types(events)).not.toContain('message_stop')
  })

  it.each<[string, unknown]>([
    ['an object', { error: { message: 'out of memory' } }],
    ['a text', { error: 'out of memory' }],
    ['an object of an older shape', { object: 'error', message: 'out of memory', code: 50000 }],
  ])('passes on the message of an error that is written as %s', (_, body) => {
    expect(last(run(toMessages(), ...chunks(delta({ content: 'a' }), body)))).toMatchObject({
      error: { message: 'out of memory' },
    })
  })

  it('passes on the text of an event that is named error', () => {
    const [event] = toMessages().push({ event: 'error', data: 'out of memory' })
    expect(readObject(parsed(event ? [event] : [])[0])).toMatchObject({ error: { message: 'out of memory' } })
  })

  it('is whole when the engine gave its reason and only [DONE] is missing', () => {
    expect(last(run(toMessages(), ...chunks(delta({ content: 'a' }, 'stop'))))).toEqual({ type: 'message_stop' })
  })

  it('reports a prompt that is too long in the words that clients look for', () => {
    const events = run(
      toMessages(),
      ...chunks({
        error: {
          code: 400,
          type: 'exceed_context_size_error',
          message: 'the request exceeds the available context size',
        },
      }),
    )
    expect(last(events)).toMatchObject({
      error: { type: 'invalid_request_error', message: expect.stringMatching(/^prompt is too long/) },
    })
  })

  it('ends once: nothing follows a failure from outside or a whole answer', () => {
    const broken = toMessages()
    expect(broken.fail(backendFailed('The engine was cut off.'))).toHaveLength(1)
    expect([
      ...broken.fail(backendFailed('again')),
      ...run(broken, ...chunks(delta({ content: 'a' }, 'stop'))),
    ]).toEqual([])
    const whole = toMessages()
    run(whole, ...chunks(delta({ content: 'a' }, 'stop'), '[DONE]'))
    expect([...whole.fail(backendFailed('too late')), ...whole.end()]).toEqual([])
    expect(whole.state()).toBe('ended')
  })
})

describe('a whole completion', () => {
  it('becomes the message that its stream would have become', () => {
    expect(json(jsonFixture('vllm-two-calls.json'))).toMatchObject({
      answer: {
        type: 'message',
        role: 'assistant',
        model: 'svc/fast',
        content: [
          { type: 'thinking', thinking: 'Both at once.', signature: 'svc-local-reasoning' },
          { type: 'tool_use', id: 'chatcmpl-tool-1', name: 'search', input: { q: 'cats' } },
          { type: 'tool_use', id: 'chatcmpl-tool-2', name: 'fetch', input: { url: 'http://a' } },
        ],
        stop_reason: 'tool_use',
        stop_sequence: null,
        usage: { input_tokens: 36, cache_read_input_tokens: 64, output_tokens: 40 },
      },
    })
    expect(json(jsonFixture('ollama-text.json'))).toMatchObject({
      answer: { content: [{ type: 'text', text: 'Grüß dich, 世界! 👋🏽' }], stop_reason: 'end_turn' },
    })
  })

  it.each<[string, Json, Json]>([
    [
      'a call without arguments',
      completion({ tool_calls: [{ id: 'a', function: { name: 'now', arguments: '' } }] }, 'tool_calls'),
      { content: [{ input: {} }] },
    ],
    [
      'a stop sequence',
      completion({ content: 'a' }, 'stop', { stop_reason: 'END' }),
      { stop_reason: 'stop_sequence', stop_sequence: 'END' },
    ],
    [
      'a call that the limit cut off',
      completion({ content: 'a', tool_calls: [{ id: 'a', function: { name: 'w', arguments: '{"t":"x' } }] }, 'length'),
      { content: [{ type: 'text' }], stop_reason: 'max_tokens' },
    ],
    ['no content at all', completion({ content: null }), { content: [], stop_reason: 'end_turn' }],
  ])('with %s', (_, body, message) => {
    expect(json(body)).toMatchObject({ answer: message })
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['no choice', { choices: [] }],
    ['an error', { error: { message: 'x' } }],
    [
      'broken arguments',
      completion({ tool_calls: [{ id: 'a', function: { name: 'w', arguments: '{"t' } }] }, 'tool_calls'),
    ],
    [
      'a call without a name',
      completion(
        {
          tool_calls: [
            { id: 'a', function: { arguments: '{}' } },
            { id: 'b', function: { name: 'w', arguments: '{}' } },
          ],
        },
        'tool_calls',
      ),
    ],
  ])('is a failure with %s', (_, body) => {
    expect(json(body)).toMatchObject({ failed: { message: expect.any(String) } })
  })
})
