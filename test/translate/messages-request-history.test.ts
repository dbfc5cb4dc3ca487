import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { asked, assistant, call, PNG, PNG_PART, result, text, use, user } from './messages-requests.ts'

describe('the history', () => {
  it.each<[string, Json, unknown[]]>([
    ['a text as content', { messages: [{ role: 'user', content: 'hi' }] }, [{ role: 'user', content: 'hi' }]],
    ['blocks as content', { messages: [user(text('a'), text('b'))] }, [{ role: 'user', content: 'a\n\nb' }]],
    ['system as a text', { system: 'be brief' }, [{ role: 'system', content: 'be brief' }]],
    [
      'system as blocks with cache marks',
      { system: [text('one'), text('two')], messages: [{ role: 'user', content: 'hi' }] },
      [
        { role: 'system', content: 'one\n\ntwo' },
        { role: 'user', content: 'hi' },
      ],
    ],
    [
      'a leading system message joins the system prompt',
      { system: 'a', messages: [{ role: 'system', content: 'b' }] },
      [{ role: 'system', content: 'a\n\nb' }],
    ],
    [
      'a system message in mid-conversation, which chat templates reject, goes with the user',
      {
        system: 'a',
        messages: [
          user(text('hi')),
          assistant(text('yes')),
          { role: 'system', content: [text('now b')] },
          user(text('go')),
        ],
      },
      [
        { role: 'system', content: 'a' },
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'yes' },
        { role: 'user', content: '<system>\nnow b\n</system>\n\ngo' },
      ],
    ],
    [
      'consecutive turns of one side are one turn',
      { messages: [user(text('a')), user(text('b')), assistant(text('c')), assistant(text('d'))] },
      [
        { role: 'user', content: 'a\n\nb' },
        { role: 'assistant', content: 'c\n\nd' },
      ],
    ],
    [
      'an image',
      { messages: [user(text('see'), PNG)] },
      [{ role: 'user', content: [{ type: 'text', text: 'see' }, PNG_PART] }],
    ],
    [
      'an image by URL',
      { messages: [user({ type: 'image', source: { type: 'url', url: 'https://a/b.png' } })] },
      [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a/b.png' } }] }],
    ],
    [
      'a document of plain text',
      { messages: [user({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'doc' } })] },
      [{ role: 'user', content: 'doc' }],
    ],
    [
      'thinking of whatever model is left out',
      {
        messages: [
          user(text('hi')),
          assistant(
            { type: 'thinking', thinking: 'hm', signature: 'x' },
            { type: 'redacted_thinking', data: 'y' },
            text('yes'),
          ),
        ],
      },
      [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'yes' },
      ],
    ],
    [
      'a turn of nothing but thinking leaves no trace',
      { messages: [user(text('a')), assistant({ type: 'thinking', thinking: 'hm', signature: 'x' }), user(text('b'))] },
      [{ role: 'user', content: 'a\n\nb' }],
    ],
  ])('takes %s', (_, body, messages) => {
    expect(asked(body).messages).toEqual(messages)
  })
})

describe('tool calls and results', () => {
  const history = (...messages: Json[]): unknown => asked({ messages }).messages

  it('puts results right behind their calls and the words of the user after them, in one message', () => {
    expect(
      history(
        assistant(text('both'), use('a'), use('b')),
        user(text('before'), result('a', 'A'), text('between'), result('b', [text('B')]), text('after')),
      ),
    ).toEqual([
      { role: 'assistant', content: 'both', tool_calls: [call('a'), call('b')] },
      { role: 'tool', tool_call_id: 'a', content: 'A' },
      { role: 'tool', tool_call_id: 'b', content: 'B' },
      { role: 'user', content: 'before\n\nbetween\n\nafter' },
    ])
  })

  it('puts results in the right place even when the conversation went on in between', () => {
    expect(
      history(
        assistant(use('a'), use('b')),
        user(result('a', 'A'), { type: 'text', text: 'go on' }),
        assistant(text('ok')),
        user(result('b', 'B')),
      ),
    ).toEqual([
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
      { role: 'tool', tool_call_id: 'a', content: 'A' },
      { role: 'tool', tool_call_id: 'b', content: 'B' },
      { role: 'user', content: 'go on' },
      { role: 'assistant', content: 'ok' },
    ])
  })

  it('shows images inside of a result in the turn of the user', () => {
    expect(history(assistant(use('a'), use('b')), user(result('a', [text('shot'), PNG]), result('b', [PNG])))).toEqual([
      expect.anything(),
      { role: 'tool', tool_call_id: 'a', content: 'shot' },
      { role: 'tool', tool_call_id: 'b', content: 'The result is the image that follows.' },
      { role: 'user', content: [PNG_PART, PNG_PART] },
    ])
  })

  it.each<[string, Json, string]>([
    ['a failed result', result('a', 'no such file', { is_error: true }), 'Error: no such file'],
    ['a result that is no error', result('a', 'fine', { is_error: false }), 'fine'],
    ['an empty result', result('a'), ''],
    [
      'a tool that was found by search',
      result('a', [{ type: 'tool_reference', tool_name: 'grep' }]),
      'The tool grep is available.',
    ],
  ])('says in words: %s', (_, block, content) => {
    expect(history(assistant(use('a')), user(block))).toContainEqual({ role: 'tool', tool_call_id: 'a', content })
  })

  it.each<[string, unknown, string]>([
    ['none', undefined, '{}'],
    ['an empty text', '', '{}'],
    [
      'an object, in the order it came',
      { z: 1, a: { y: [2, 1.5], b: 'ü"\n' } },
      '{"z":1,"a":{"y":[2,1.5],"b":"ü\\"\\n"}}',
    ],
  ])('writes the arguments of a call with %s the same every turn', (_, input, args) => {
    const body = { messages: [assistant(use('a', input))] }
    expect(asked(body).messages).toEqual([{ role: 'assistant', content: null, tool_calls: [call('a', args)] }])
    expect(JSON.stringify(asked(structuredClone(body)))).toBe(JSON.stringify(asked(body)))
  })
})
