import { describe, expect, it } from 'vitest'
import { readObject } from '../../src/gateway/dialects/json/read-json.ts'
import { calls, fold, stream, types } from './messages-answers.ts'
import { callDelta, chunks, delta, foldMessage, parsed, toMessages } from './streams.ts'

describe('streamed tool calls', () => {
  it('carry every fragment of their arguments', () => {
    const events = stream(
      callDelta(0, '', 'get', 'c1'),
      callDelta(0, '{"a"'),
      callDelta(0, ':1}'),
      delta({}, 'tool_calls'),
    )
    const fragments = parsed(events).map((event) => readObject(event.delta).partial_json)
    expect(fragments.filter((fragment) => fragment !== undefined)).toEqual(['{"a"', ':1}'])
  })

  it('carry arguments that come all at once', () => {
    expect(calls(fold(callDelta(0, '{"a":1}', 'get', 'c1'), delta({}, 'tool_calls')))).toEqual([['get', { a: 1 }]])
  })

  it('carry arguments that come as an object instead of text', () => {
    const whole = delta({ tool_calls: [{ id: 'c1', function: { name: 'get', arguments: { a: 1 } } }] })
    expect(calls(fold(whole, delta({}, 'tool_calls')))).toEqual([['get', { a: 1 }]])
  })

  it('start the message first, even when the first chunk is a call', () => {
    expect(types(stream(callDelta(0, '{}', 'get', 'c1'), delta({}, 'tool_calls'))).slice(0, 2)).toEqual([
      'message_start',
      'content_block_start tool_use',
    ])
  })

  it('go to their own block when parallel calls alternate', () => {
    const message = fold(
      callDelta(0, '{"a":', 'one', 'c1'),
      callDelta(1, '{"b":', 'two', 'c2'),
      callDelta(2, '{"c":', 'three', 'c3'),
      callDelta(1, '2}'),
      callDelta(2, '3}'),
      callDelta(0, '1}'),
      delta({}, 'tool_calls'),
    )
    expect(calls(message)).toEqual([
      ['one', { a: 1 }],
      ['two', { b: 2 }],
      ['three', { c: 3 }],
    ])
  })

  it('stream the second call while it is written once the first is whole', () => {
    const translator = toMessages()
    const push = (body: unknown): string[] => types(chunks(body).flatMap((event) => translator.push(event)))
    push(callDelta(0, '{"a":1}', 'one', 'c1'))
    expect(push(callDelta(1, '{"b":', 'two', 'c2'))).toEqual([
      'content_block_stop',
      'content_block_start tool_use',
      'content_block_delta input_json_delta',
    ])
  })

  it.each<[string, unknown[]]>([
    [
      'ids tell them apart',
      [
        callDelta(undefined, '{}', 'one', 'c1'),
        callDelta(undefined, '{}', 'two', 'c2'),
        callDelta(undefined, '{}', 'three', 'c3'),
      ],
    ],
    [
      'their place tells them apart',
      [delta({ tool_calls: ['one', 'two', 'three'].map((name) => ({ function: { name, arguments: '{}' } })) })],
    ],
    [
      'their place tells the fragments apart',
      [
        delta({ tool_calls: ['one', 'two', 'three'].map((name) => ({ function: { name, arguments: '{' } })) }),
        delta({ tool_calls: ['one', 'two', 'three'].map(() => ({ function: { arguments: '}' } })) }),
      ],
    ],
    [
      'their names tell them apart',
      [callDelta(undefined, '{}', 'one'), callDelta(undefined, '{}', 'two'), callDelta(undefined, '{}', 'three')],
    ],
    [
      'all have the number 0',
      [callDelta(0, '{}', 'one', 'c1'), callDelta(0, '{}', 'two', 'c2'), callDelta(0, '{}', 'three', 'c3')],
    ],
    [
      'all have the number 0 and no id',
      [callDelta(0, '{}', 'one'), callDelta(0, '{}', 'two'), callDelta(0, '{}', 'three')],
    ],
    [
      'all have one id',
      [callDelta(0, '{}', 'one', 'c'), callDelta(1, '{}', 'two', 'c'), callDelta(2, '{}', 'three', 'c')],
    ],
  ])('do not merge when their numbers are missing: %s', (_, deltas) => {
    expect(calls(fold(...deltas, delta({}, 'tool_calls')))).toEqual([
      ['one', {}],
      ['two', {}],
      ['three', {}],
    ])
  })

  it('are one call although the engine repeats name and id with each fragment', () => {
    const message = fold(
      callDelta(0, '', 'get', 'c1'),
      callDelta(0, '{"a":', 'get', 'c1'),
      callDelta(0, '1}', 'get', 'c1'),
      callDelta(0, '', 'get', 'c1'),
      delta({}, 'tool_calls'),
    )
    expect(calls(message)).toEqual([['get', { a: 1 }]])
  })

  it('are one call although the engine gives each fragment an id of its own', () => {
    const message = fold(
      callDelta(0, '{"a":', 'get', 'c1'),
      callDelta(0, '1}', undefined, 'c2'),
      delta({}, 'tool_calls'),
    )
    expect(calls(message)).toEqual([['get', { a: 1 }]])
  })

  it('are one call although its name comes in pieces', () => {
    expect(
      calls(
        fold(callDelta(0, '', 'get_', 'c1'), callDelta(0, '', 'weather'), callDelta(0, '{}'), delta({}, 'tool_calls')),
      ),
    ).toEqual([['get_weather', {}]])
  })

  it('are not torn apart by empty text between their fragments', () => {
    const events = stream(
      callDelta(0, '{"a":', 'get', 'c1'),
      delta({ content: '' }),
      delta({ content: '\n', reasoning: '' }),
      callDelta(0, '1}'),
      delta({}, 'tool_calls'),
    )
    expect(types(events)).toEqual([
      'message_start',
      'content_block_start tool_use',
      'content_block_delta input_json_delta',
      'content_block_delta input_json_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
  })

  it('without arguments have an empty object as input', () => {
    expect(calls(fold(callDelta(0, '', 'now', 'c1'), delta({}, 'tool_calls')))).toEqual([['now', {}]])
  })

  it('get ids that the vendor accepts in a history', () => {
    const message = fold(callDelta(0, '{}', 'bash', 'functions.bash:0'), delta({}, 'tool_calls'))
    expect(message.content).toMatchObject([{ id: 'call_hJf-nM5pr_CqcCXv2TOQgSFbz0XBb7PupKQ' }])
  })

  it('fail the answer when their arguments are broken, and say whose', () => {
    const events = stream(callDelta(0, '{"a":', 'get', 'c1'), delta({}, 'tool_calls'))
    expect(parsed(events).at(-1)).toEqual({
      type: 'error',
      error: { type: 'api_error', message: 'The model called get with broken JSON. Try your request again.' },
    })
  })
})

describe('blocks', () => {
  it('open one message only, and thoughts never land in a text block', () => {
    const events = stream(
      delta({ reasoning_content: 'a' }),
      delta({ content: 'b' }),
      delta({ reasoning: 'c' }),
      delta({ content: 'd' }),
      delta({}, 'stop'),
    )
    expect(types(events).filter((type) => type === 'message_start')).toHaveLength(1)
    expect(foldMessage(events).content.map(({ type, text, thinking }) => [type, text ?? thinking])).toEqual([
      ['thinking', 'a'],
      ['text', 'b'],
      ['thinking', 'c'],
      ['text', 'd'],
    ])
  })

  it.each<[string, unknown[], string[]]>([
    ['thinking then a call', [delta({ reasoning: 'a' }), callDelta(0, '{}', 'get', 'c1')], ['thinking', 'tool_use']],
    ['text then thinking', [delta({ content: 'a' }), delta({ reasoning: 'b' })], ['text', 'thinking']],
    ['a call then text', [callDelta(0, '{}', 'get', 'c1'), delta({ content: 'a' })], ['tool_use', 'text']],
    [
      'all in one chunk',
      [
        delta({
          reasoning: 'a',
          content: 'b',
          tool_calls: [{ index: 0, id: 'c', function: { name: 'get', arguments: '{}' } }],
        }),
      ],
      ['thinking', 'text', 'tool_use'],
    ],
  ])('have an index each: %s', (_, deltas, expected) => {
    expect(fold(...deltas, delta({}, 'stop')).content.map(({ type }) => type)).toEqual(expected)
  })

  it('are never blank: the vendor refuses a history with such text', () => {
    expect(
      fold(
        delta({ content: '\n\n' }),
        callDelta(0, '{}', 'get', 'c1'),
        delta({ content: ' ' }),
        delta({}, 'tool_calls'),
      ).content,
    ).toMatchObject([{ type: 'tool_use' }])
  })

  it('are none where the answer is nothing but white space', () => {
    expect(fold(delta({ content: '\n' }), delta({}, 'stop')).content).toEqual([])
  })

  it('keep the white space of the text around it', () => {
    expect(
      fold(
        delta({ content: '\n' }),
        delta({ content: ' a' }),
        delta({ content: '\n' }),
        delta({ content: ' b ' }),
        delta({}, 'stop'),
      ).content,
    ).toMatchObject([{ type: 'text', text: '\n a\n b ' }])
  })

  it('carry a refusal as text', () => {
    expect(fold(delta({ refusal: 'I will' }), delta({ refusal: ' not.' }), delta({}, 'stop'))).toMatchObject({
      content: [{ type: 'text', text: 'I will not.' }],
      stop_reason: 'refusal',
    })
  })
})
