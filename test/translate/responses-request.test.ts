import { describe, expect, it } from 'vitest'
import type { ChatFunction, ChatRequest } from '../../src/gateway/dialects/chat/wire.ts'
import { type Json, parseObject, readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Refusal } from '../../src/gateway/dialects/refusal.ts'
import { translation, tryTranslation } from './streams.ts'

type EngineRequest = Omit<ChatRequest, 'tools'> & { tools?: ChatFunction[] }

const crossed = (body: Json) => translation('responses', { input: [], ...body })
const asked = (body: Json) => crossed(body).request as EngineRequest

/** The response that the answer of a call begins with. */
const begun = (body: Json): Json => {
  const [created] = crossed(body).answer.stream().push({ event: null, data: '{"choices":[{"delta":{}}]}' })
  return readObject(parseObject(created?.data ?? '')?.response)
}

/** The one item of the answer when the model calls this function. */
const calledBack = (body: Json, name: string): Json => {
  const message = { tool_calls: [{ id: 'c', function: { name, arguments: '{"input":"x"}' } }] }
  const whole = crossed(body).answer.whole({ choices: [{ message, finish_reason: 'tool_calls' }] })
  return readObject(readList('answer' in whole ? whole.answer.output : [])[0])
}

const refused = (body: Json): Refusal | null => {
  const result = tryTranslation('responses', { input: [], ...body })
  return 'refused' in result ? result.refused : null
}

const message = (role: string, ...content: unknown[]): Json => ({ type: 'message', role, content })
const input = (text: string): Json => ({ type: 'input_text', text })
const called = (id: string, args = '{}', more: Json = {}): Json => ({
  type: 'function_call',
  call_id: id,
  name: 'read',
  arguments: args,
  ...more,
})
const output = (id: string, said: unknown): Json => ({ type: 'function_call_output', call_id: id, output: said })
const call = (id: string, args = '{}', name = 'read'): unknown => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const PNG = 'data:image/png;base64,AAAA'

describe('the input', () => {
  it.each<[string, Json, unknown[]]>([
    ['a text', { input: 'hi' }, [{ role: 'user', content: 'hi' }]],
    [
      'instructions',
      { instructions: 'be brief', input: 'hi' },
      [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hi' },
      ],
    ],
    [
      'a message without a type and with a text',
      { input: [{ role: 'user', content: 'hi' }] },
      [{ role: 'user', content: 'hi' }],
    ],
    [
      'every role',
      {
        instructions: 'a',
        input: [
          message('developer', input('b')),
          message('system', input('c')),
          message('user', input('hi')),
          message('assistant', { type: 'output_text', text: 'yes' }, { type: 'refusal', refusal: 'no' }),
        ],
      },
      [
        { role: 'system', content: 'a\n\nb\n\nc' },
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'yes\nno' },
      ],
    ],
    [
      'a developer message in mid-conversation, which chat templates reject',
      {
        input: [
          message('user', input('hi')),
          message('assistant', { type: 'output_text', text: 'yes' }),
          message('developer', input('now b')),
        ],
      },
      [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'yes' },
        { role: 'user', content: '<system>\nnow b\n</system>' },
      ],
    ],
    [
      'an image',
      {
        input: [
          message(
            'user',
            input('see'),
            { type: 'input_image', image_url: PNG, detail: 'auto' },
            { type: 'input_image', image_url: PNG, detail: 'low' },
          ),
        ],
      },
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image_url', image_url: { url: PNG } },
            { type: 'image_url', image_url: { url: PNG, detail: 'low' } },
          ],
        },
      ],
    ],
    [
      'calls and their outputs, however they are ordered',
      {
        input: [
          called('a', '{"z":1, "a":2.0}'),
          called('b', ''),
          message('user', input('wait')),
          output('b', 'B'),
          output('a', [input('A'), { type: 'input_image', image_url: PNG }]),
        ],
      },
      [
        { role: 'assistant', content: null, tool_calls: [call('a', '{"z":1, "a":2.0}'), call('b')] },
        { role: 'tool', tool_call_id: 'b', content: 'B' },
        { role: 'tool', tool_call_id: 'a', content: 'A' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'wait' },
            { type: 'image_url', image_url: { url: PNG } },
          ],
        },
      ],
    ],
    [
      'text and calls of one turn in one message',
      {
        input: [
          message('assistant', { type: 'output_text', text: 'look' }),
          called('a'),
          output('a', 'A'),
          called('b'),
          output('b', 'B'),
        ],
      },
      [
        { role: 'assistant', content: 'look', tool_calls: [call('a')] },
        { role: 'tool', tool_call_id: 'a', content: 'A' },
        { role: 'assistant', content: null, tool_calls: [call('b')] },
        { role: 'tool', tool_call_id: 'b', content: 'B' },
      ],
    ],
    [
      'custom calls and their outputs',
      {
        input: [
          { type: 'custom_tool_call', call_id: 'p', name: 'apply_patch', input: '*** "Begin"\n' },
          { type: 'custom_tool_call_output', call_id: 'p', output: 'Done' },
        ],
      },
      [
        { role: 'assistant', content: null, tool_calls: [call('p', '{"input":"*** \\"Begin\\"\\n"}', 'apply_patch')] },
        { role: 'tool', tool_call_id: 'p', content: 'Done' },
      ],
    ],
    [
      'no reasoning and no searches of another model',
      {
        input: [
          message('user', input('hi')),
          { type: 'reasoning', id: 'r', summary: [], encrypted_content: 'x' },
          { type: 'web_search_call', status: 'completed', action: {} },
        ],
      },
      [{ role: 'user', content: 'hi' }],
    ],
  ])('holds %s', (_, body, messages) => {
    expect(asked(body).messages).toEqual(messages)
  })
})

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
      { type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} }, strict: true } },
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
      { text: { format: { type: 'json_schema', name: 'out', schema: { type: 'object' }, strict: true } } },
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'out', schema: { type: 'object' }, strict: true },
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
    ['an answer in the background', { background: true }, 'background'],
    ['log probabilities', { top_logprobs: 3 }, 'top_logprobs'],
    ['a limit of nothing', { max_output_tokens: 0 }, 'max_output_tokens'],
    ['an unknown format', { text: { format: { type: 'grammar' } } }, 'text.format.type'],
    ['no input', { input: undefined }, 'input'],
    ['an item by reference', { input: [{ type: 'item_reference', id: 'x' }] }, 'input.0'],
    ['a summary that only its author can read', { input: [{ type: 'compaction', encrypted_content: 'x' }] }, 'input.0'],
    ['a summary on demand', { input: [{ type: 'compaction_trigger' }] }, 'input.0'],
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
