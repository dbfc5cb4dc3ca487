import { describe, expect, it } from 'vitest'
import type { ChatFunction, ChatRequest } from '../../src/gateway/dialects/chat/wire.ts'
import { type Json, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Refusal } from '../../src/gateway/dialects/refusal.ts'
import { translation, tryTranslation } from './streams.ts'

const asked = (body: Json) =>
  translation('messages', { messages: [], ...body }).request as Omit<ChatRequest, 'tools'> & { tools?: ChatFunction[] }

const refused = (body: Json): Refusal | null => {
  const result = tryTranslation('messages', { messages: [], ...body })
  return 'refused' in result ? result.refused : null
}

const user = (...content: unknown[]): Json => ({ role: 'user', content })
const assistant = (...content: unknown[]): Json => ({ role: 'assistant', content })
const text = (said: string): Json => ({ type: 'text', text: said, cache_control: { type: 'ephemeral' } })
const use = (id: string, input: unknown = {}): Json => ({
  type: 'tool_use',
  id,
  name: 'read',
  input,
  caller: { type: 'direct' },
})
const result = (id: string, content?: unknown, more: Json = {}): Json => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})
const PNG = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
const PNG_PART = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const call = (id: string, args = '{}'): unknown => ({
  id,
  type: 'function',
  function: { name: 'read', arguments: args },
})

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

  it('gives a result to the latest call of its id, because some engines count anew every turn', () => {
    expect(
      history(assistant(use('0')), user(result('0', 'first')), assistant(use('0')), user(result('0', 'second'))),
    ).toEqual([
      { role: 'assistant', content: null, tool_calls: [call('0')] },
      { role: 'tool', tool_call_id: '0', content: 'first' },
      { role: 'assistant', content: null, tool_calls: [call('0')] },
      { role: 'tool', tool_call_id: '0', content: 'second' },
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

describe('tools', () => {
  const SCHEMA = { type: 'object', properties: { path: { type: 'string' } } }
  const TOOL = { name: 'read', description: 'Reads.', input_schema: SCHEMA }

  it.each<[string, Json]>([
    ['no type', TOOL],
    ['a null type', { ...TOOL, type: null }],
    ['the type custom', { ...TOOL, type: 'custom' }],
    ['members that only matter elsewhere', { ...TOOL, cache_control: { type: 'ephemeral' } }],
  ])('takes a tool with %s as a function', (_, tool) => {
    expect(asked({ tools: [tool] }).tools).toEqual([
      { type: 'function', function: { name: 'read', description: 'Reads.', parameters: SCHEMA } },
    ])
  })

  it.each(['bash_20250124', 'text_editor_20250728', 'code_execution_20260120', 'mcp_toolset'])(
    'refuses a tool of the type %s by name instead of dropping it',
    (type) => {
      const refusal = refused({ tools: [TOOL, { type, name: 'special' }] })
      expect(refusal?.param).toBe('tools.1')
      expect(refusal?.message).toContain(type)
      expect(refusal?.message).toContain('special')
    },
  )

  it('withholds web search beside other tools and tells the model', () => {
    const request = asked({ tools: [TOOL, { type: 'web_search_20250305', name: 'web_search' }] })
    expect(request.tools).toHaveLength(1)
    expect(request.messages).toEqual([
      { role: 'system', content: 'The tool web_search_20250305 is not available in this session.' },
    ])
  })

  it('refuses web search where the request is about nothing else', () => {
    expect(refused({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] })?.param).toBe('tools.0')
  })

  it('offers a deferred tool once a tool reference has named it', () => {
    const tools = [TOOL, { ...TOOL, name: 'grep', defer_loading: true }, { ...TOOL, name: 'DeferredToolPlaceholder' }]
    const names = (messages: Json[]) => asked({ tools, messages }).tools?.map((tool) => readObject(tool.function).name)
    expect(names([])).toEqual(['read'])
    const found = user(result('a', [{ type: 'tool_reference', tool_name: 'grep' }]))
    expect(names([assistant(use('a')), found])).toEqual(['read', 'grep'])
  })

  it.each<[Json | undefined, Json]>([
    [undefined, {}],
    [{ type: 'auto' }, { tool_choice: 'auto' }],
    [{ type: 'any' }, { tool_choice: 'required' }],
    [{ type: 'none' }, { tool_choice: 'none' }],
    [{ type: 'tool', name: 'read' }, { tool_choice: 'required' }],
    [
      { type: 'auto', disable_parallel_tool_use: true },
      { tool_choice: 'auto', parallel_tool_calls: false },
    ],
    [
      { type: 'auto', disable_parallel_tool_use: false },
      { tool_choice: 'auto', parallel_tool_calls: true },
    ],
    [
      { type: 'any', disable_parallel_tool_use: true },
      { tool_choice: 'required', parallel_tool_calls: false },
    ],
    [{ type: 'none', disable_parallel_tool_use: true }, { tool_choice: 'none' }],
  ])('maps tool_choice %j', (tool_choice, expected) => {
    const { tools: _, model: __, messages: ___, ...rest } = asked({ tools: [TOOL], tool_choice })
    expect(rest).toEqual(expected)
  })

  it('demands a tool by name as the only one, because engines overlook names', () => {
    const tools = [{ ...TOOL, name: 'write' }, TOOL]
    expect(asked({ tools, tool_choice: { type: 'tool', name: 'read' } })).toMatchObject({
      tool_choice: 'required',
      tools: [{ function: { name: 'read' } }],
    })
  })

  it.each<[Json, string]>([
    [{ tools: [TOOL], tool_choice: { type: 'tool', name: 'write' } }, 'tool_choice.name'],
    [{ tools: [TOOL], tool_choice: { type: 'sometimes' } }, 'tool_choice.type'],
    [{ tool_choice: { type: 'any' } }, 'tool_choice'],
    [{ tools: [{ input_schema: SCHEMA }] }, 'tools.0.name'],
  ])('refuses %j', (body, param) => {
    expect(refused(body)?.param).toBe(param)
  })
})

describe('the other members', () => {
  it.each<[Json, Json]>([
    [{ max_tokens: 512 }, { max_tokens: 512 }],
    [{ stop_sequences: ['END', 'STOP'] }, { stop: ['END', 'STOP'] }],
    [{ stop_sequences: [] }, {}],
    [
      { temperature: 0, top_p: 0.9, top_k: 40 },
      { temperature: 0, top_p: 0.9, top_k: 40 },
    ],
    [{ metadata: { user_id: 'u1', more: 1 } }, { user: 'u1' }],
    [{ stream: true }, { stream: true, stream_options: { include_usage: true } }],
    [{ stream: false }, {}],
    [
      { output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } } },
      { response_format: { type: 'json_schema', json_schema: { name: 'output', schema: { type: 'object' } } } },
    ],
    [
      {
        context_management: { edits: [] },
        thinking: { type: 'adaptive' },
        service_tier: 'auto',
        speed: 'fast',
        diagnostics: {},
        cache_control: { type: 'ephemeral' },
        something_new: { deep: true },
        container: null,
      },
      {},
    ],
  ])('maps %j', (body, expected) => {
    const { model, messages, ...rest } = asked(body)
    expect(rest).toEqual(expected)
    expect({ model, messages }).toEqual({ model: 'qwen3:8b', messages: [] })
  })

  it.each<[string, Json, string]>([
    ['a limit of nothing', { max_tokens: 0 }, 'max_tokens'],
    ['a limit that is no number', { max_tokens: 'many' }, 'max_tokens'],
    ['a container', { container: 'c1' }, 'container'],
    ['MCP servers', { mcp_servers: [{ url: 'https://a' }] }, 'mcp_servers'],
    ['no list of messages', { messages: 'hi' }, 'messages'],
    ['an unknown role', { messages: [{ role: 'robot', content: 'hi' }] }, 'messages.0.role'],
    ['content that is none', { messages: [{ role: 'user', content: 7 }] }, 'messages.0.content'],
    ['a block that is none', { messages: [user(null)] }, 'messages.0.content.0'],
    [
      'a file',
      { messages: [user({ type: 'image', source: { type: 'file', file_id: 'f' } })] },
      'messages.0.content.0.source',
    ],
    [
      'a PDF',
      { messages: [user({ type: 'document', source: { type: 'base64', data: 'JVBE' } })] },
      'messages.0.content.0.source',
    ],
    [
      'a call of a hosted tool',
      { messages: [assistant({ type: 'server_tool_use', id: 's' })] },
      'messages.0.content.0',
    ],
    ['a block from the future', { messages: [user({ type: 'hologram' })] }, 'messages.0.content.0'],
    ['a result without its call', { messages: [user(result('lost', 'x'))] }, 'messages.0.content.0.tool_use_id'],
    [
      'an unknown block inside a result',
      { messages: [assistant(use('a')), user(result('a', [{ type: 'hologram' }]))] },
      'messages.1.content.0.content.0',
    ],
    ['an image as system prompt', { system: [PNG] }, 'system.0'],
    ['an unknown output format', { output_config: { format: { type: 'xml' } } }, 'output_config.format'],
  ])('refuses %s by its place', (_, body, param) => {
    expect(refused(body)?.param).toBe(param)
  })
})
