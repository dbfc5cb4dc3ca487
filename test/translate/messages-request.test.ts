import { describe, expect, it } from 'vitest'
import { readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { asked, assistant, PNG, refused, result, use, user } from './messages-requests.ts'

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

  it('tells the model the examples of a tool in its description', () => {
    const described = (tool: Json) => readObject(asked({ tools: [tool] }).tools?.[0]?.function).description
    const input_examples = [{ path: 'a' }, { path: 'b', lines: 2 }]
    const words = 'An example of its input: {"path":"a"}\nAn example of its input: {"path":"b","lines":2}'
    expect(described({ ...TOOL, input_examples })).toBe(`Reads.\n${words}`)
    expect(described({ name: 'read', input_schema: SCHEMA, input_examples })).toBe(words)
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
      { temperature: 0, top_p: 0.9 },
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
        thread: { type: 'create' },
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
    ['the rest of a thread', { thread: { type: 'continue', previous_message_id: 'msg_1' } }, 'thread'],
    ['a thread of an unknown type', { thread: { type: 'fork' } }, 'thread'],
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
