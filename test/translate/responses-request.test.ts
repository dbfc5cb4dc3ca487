import { describe, expect, it } from 'vitest'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { asked, begun, called, calledBack, input, message, output, refused } from './responses-requests.ts'

describe('tools', () => {
  const PARAMETERS = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
  const READ = { type: 'function', name: 'read', description: 'Reads.', parameters: PARAMETERS, strict: false }
  const PATCH = {
    type: 'custom',
    name: 'apply_patch',
    description: 'Patches.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
  }

  it('are functions', () => {
    expect(asked({ tools: [READ, { type: 'function', name: 'now', parameters: null, strict: true }] }).tools).toEqual([
      { type: 'function', function: { name: 'read', description: 'Reads.', parameters: PARAMETERS } },
      { type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } },
    ])
  })

  it('of free text are functions of one text, their grammar told in words', () => {
    const request = asked({ tools: [PATCH] })
    expect(request.tools).toMatchObject([{ function: { name: 'apply_patch', parameters: { required: ['input'] } } }])
    expect(request.tools?.[0]?.function.description).toBe(
      'Patches.\n\nThe input follows this lark grammar:\nstart: "x"',
    )
    expect(calledBack({ tools: [PATCH] }, 'apply_patch')).toMatchObject({
      type: 'custom_tool_call',
      name: 'apply_patch',
      input: 'x',
    })
  })

  it('in a namespace get a name that leads back to them, in the history too', () => {
    const namespaces = [
      { type: 'namespace', name: 'mcp__files', tools: [READ, { type: 'custom', name: 'x.y' }] },
      { type: 'namespace', name: 'mcp__files__', tools: [READ] },
      { type: 'namespace', name: 'n'.repeat(70), tools: [READ, { ...READ, name: 'write' }] },
    ]
    const call = { tools: [READ, ...namespaces], input: [called('a', '{}', { namespace: 'mcp__files__' })] }
    const request = asked(call)
    const names = request.tools?.map((tool) => tool.function.name) ?? []
    expect(names.slice(0, 4)).toEqual([
      'read',
      'mcp__files__read_2134ac8d',
      'mcp__files__x_y_393c4aca',
      'mcp__files__read_4dd11c5b',
    ])
    expect(names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))).toBe(true)
    expect(new Set(names).size).toBe(6)
    expect(calledBack(call, 'mcp__files__x_y_393c4aca')).toMatchObject({
      type: 'custom_tool_call',
      name: 'x.y',
      namespace: 'mcp__files',
    })
    expect(request.messages).toMatchObject([{ tool_calls: [{ function: { name: 'mcp__files__read_4dd11c5b' } }] }])
  })

  it('in a namespace come with its description, which the model reads where the tools are added', () => {
    const crm = { type: 'namespace', name: 'crm', description: 'Customers.', tools: [READ] }
    const docs = { type: 'namespace', name: 'mcp__docs__', description: 'Pages.', tools: [READ] }
    const plain = { type: 'namespace', name: 'n', description: '', tools: [READ] }
    const added = { type: 'additional_tools', role: 'developer', tools: [READ, docs, plain] }
    const { messages } = asked({ tools: [crm, plain], input: [message('user', input('hi')), added] })
    expect(messages).toEqual([
      { role: 'system', content: 'The tools whose names begin with crm__: Customers.' },
      {
        role: 'user',
        content: 'hi\n\n<system>\nThe tools whose names begin with mcp__docs__: Pages.\n</system>',
      },
    ])
  })

  it.each(['web_search', 'web_search_preview', 'web_search_2026_01_01'])(
    'withhold %s openly: the model is told and the answer lists only what is in force',
    (type) => {
      const call = { instructions: 'a', tools: [READ, { type, external_web_access: true }], input: 'hi' }
      const request = asked(call)
      expect(request.tools).toHaveLength(1)
      expect(request.messages[0]).toEqual({
        role: 'system',
        content: `a\n\nThe tool ${type} is not available in this session.`,
      })
      expect(readList(begun(call).tools).map((tool) => readObject(tool).name)).toEqual(['read'])
    },
  )

  it.each([
    'file_search',
    'computer_use_preview',
    'image_generation',
    'code_interpreter',
    'mcp',
    'local_shell',
    'shell',
    'apply_patch',
    'tool_search',
    undefined,
  ])('of the hosted type %s are refused by name', (type) => {
    const refusal = refused({ tools: [READ, { type, server_label: 'x' }] })
    expect(refusal?.param).toBe('tools.1')
    expect(refusal?.message).toContain(type ?? 'without a type')
  })

  // The history of such a conversation has calls without a result, which other vendors refuse.
  it.each([READ, PATCH])('that do not wait for a result are refused: %j', (tool) => {
    expect(refused({ tools: [{ ...tool, async: true }] })?.param).toBe('tools.0.async')
    expect(refused({ tools: [{ ...tool, async: false }] })).toBeNull()
  })

  it.each<[unknown, Json]>([
    [undefined, {}],
    ['auto', { tool_choice: 'auto' }],
    ['none', { tool_choice: 'none' }],
    ['required', { tool_choice: 'required' }],
    [{ type: 'function', name: 'read' }, { tool_choice: 'required' }],
    [{ type: 'custom', name: 'apply_patch' }, { tool_choice: 'required' }],
    [
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'read' }] },
      { tool_choice: 'required' },
    ],
  ])('may be chosen by %j', (tool_choice, expected) => {
    const { messages: _, model: __, tools: ___, ...rest } = asked({ tools: [READ, PATCH], tool_choice })
    expect(rest).toEqual(expected)
  })

  it('are demanded by name as the only one, because engines overlook names', () => {
    const request = asked({ tools: [READ, PATCH], tool_choice: { type: 'custom', name: 'apply_patch' } })
    expect(request).toMatchObject({ tool_choice: 'required', tools: [{ function: { name: 'apply_patch' } }] })
    expect(request.tools?.length).toBe(1)
  })

  it('may be narrowed to some of them', () => {
    const tool_choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'custom', name: 'apply_patch' }] }
    expect(asked({ tools: [READ, PATCH], tool_choice }).tools).toMatchObject([{ function: { name: 'apply_patch' } }])
  })

  it.each<[Json, Json]>([
    [{ parallel_tool_calls: false }, { parallel_tool_calls: false }],
    [{ parallel_tool_calls: true }, { parallel_tool_calls: true }],
    [{ parallel_tool_calls: false, tool_choice: 'none' }, {}],
  ])('may be called in parallel or not: %j', (body, expected) => {
    expect(readObject(asked({ tools: [READ], ...body })).parallel_tool_calls).toBe(expected.parallel_tool_calls)
    expect(asked(body).parallel_tool_calls).toBeUndefined()
  })

  it.each<[Json, string]>([
    [{ tools: [READ], tool_choice: { type: 'function', name: 'write' } }, 'tool_choice.name'],
    [{ tools: [READ], tool_choice: { type: 'custom', name: 'read' } }, 'tool_choice.name'],
    [{ tools: [READ, { type: 'web_search' }], tool_choice: { type: 'web_search' } }, 'tool_choice'],
    [{ tools: [{ type: 'web_search' }], tool_choice: 'required' }, 'tool_choice'],
    [{ tools: [{ type: 'function' }] }, 'tools.0.name'],
    [{ tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }] }, 'tools.0.tools.0'],
  ])('that cannot be had are refused: %j', (body, param) => {
    expect(refused(body)?.param).toBe(param)
  })
})

describe('the other members', () => {
  it.each<[Json, Json]>([
    [{ max_output_tokens: 512 }, { max_tokens: 512 }],
    [
      { temperature: 0, top_p: 0.5, user: 'u' },
      { temperature: 0, top_p: 0.5, user: 'u' },
    ],
    [{ safety_identifier: 's' }, { user: 's' }],
    [{ stream: true }, { stream: true, stream_options: { include_usage: true } }],
    [{ reasoning: { effort: 'medium', summary: 'auto' } }, { reasoning_effort: 'medium' }],
    [{ reasoning: { effort: 'minimal' } }, { reasoning_effort: 'low' }],
    [{ reasoning: { effort: 'xhigh' } }, { reasoning_effort: 'high' }],
    [{ reasoning: { effort: null } }, {}],
    [{ text: { format: { type: 'text' }, verbosity: 'low' } }, {}],
    [{ text: { format: { type: 'json_object' } } }, { response_format: { type: 'json_object' } }],
    [
      {
        text: {
          format: { type: 'json_schema', name: 'out', description: 'd', schema: { type: 'object' }, strict: true },
        },
      },
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'out', description: 'd', schema: { type: 'object' }, strict: true },
        },
      },
    ],
    [
      {
        include: ['reasoning.encrypted_content'],
        store: false,
        metadata: { a: 'b' },
        client_metadata: { x: 'y' },
        prompt_cache_key: 'k',
        service_tier: 'auto',
        truncation: 'auto',
        stream_options: { include_obfuscation: false },
        max_tool_calls: 3,
        previous_response_id: null,
        conversation: null,
        background: false,
        something_new: 1,
      },
      {},
    ],
  ])('map %j', (body, expected) => {
    const { model, messages, ...rest } = asked(body)
    expect(rest).toEqual(expected)
    expect({ model, messages }).toEqual({ model: 'qwen3:8b', messages: [] })
  })

  it.each<[string, Json, string]>([
    ['a response of before', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['a stored conversation', { conversation: 'conv_1' }, 'conversation'],
    ['a stored prompt', { prompt: { id: 'p' } }, 'prompt'],
    ['a limit of nothing', { max_output_tokens: 0 }, 'max_output_tokens'],
    ['an unknown format', { text: { format: { type: 'grammar' } } }, 'text.format.type'],
    ['no input', { input: undefined }, 'input'],
    ['an item by reference', { input: [{ type: 'item_reference', id: 'x' }] }, 'input.0'],
    ['a summary that only its author can read', { input: [{ type: 'compaction', encrypted_content: 'x' }] }, 'input.0'],
    [
      'a summary on demand before the end',
      { input: [{ type: 'compaction_trigger' }, { role: 'user', content: 'hi' }] },
      'input.0',
    ],
    ['a call of a hosted tool', { input: [{ type: 'mcp_call' }] }, 'input.0'],
    ['an item from the future', { input: [{ type: 'hologram' }] }, 'input.0'],
    ['an unknown role', { input: [message('robot', input('hi'))] }, 'input.0.role'],
    ['content that is none', { input: [{ role: 'user', content: 7 }] }, 'input.0.content'],
    ['a file', { input: [message('user', { type: 'input_file', file_id: 'f' })] }, 'input.0.content.0'],
    ['an image by file', { input: [message('user', { type: 'input_image', file_id: 'f' })] }, 'input.0.content.0'],
    ['an output without its call', { input: [output('lost', 'x')] }, 'input.0.call_id'],
  ])('are refused by name: %s', (_, body, param) => {
    expect(refused(body)?.param).toBe(param)
  })

  it('come back in the answer', () => {
    const response = begun({
      instructions: 'a',
      metadata: { a: 'b' },
      temperature: 0.5,
      tool_choice: 'auto',
      max_output_tokens: 9,
    })
    expect(response).toMatchObject({
      instructions: 'a',
      metadata: { a: 'b' },
      temperature: 0.5,
      max_output_tokens: 9,
      tools: [],
      top_p: null,
    })
  })
})
