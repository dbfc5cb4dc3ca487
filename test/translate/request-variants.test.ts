/** Requests as clients may write them besides the usual way, and what a backend of another dialect gets. */
import type { ResponseOutputText } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import { DEFAULT_CAPS } from '../../src/gateway/dialects/caps.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { parseExactly, readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { pair, refusalOf } from './pairs.ts'

const MESSAGES = DEFAULT_CAPS.messages
const user = (content: unknown) => ({ role: 'user', content })
const messagesOf = (request: Json): Json[] => readList(request.messages).map(readObject)
const toolsOf = (request: Json): Json[] => readList(request.tools).map(readObject)
const IMAGE = 'data:image/png;base64,AAAA'

describe('what only one dialect has is refused by its place, and never lost', () => {
  const image = { type: 'image_url', image_url: { url: IMAGE } }
  const inputImage = { type: 'input_image', image_url: IMAGE }
  const search = { type: 'web_search_20250305', name: 'web_search', blocked_domains: ['a.example'] }
  const read = { name: 'read', input_schema: { type: 'object' } }

  it.each<[string, Dialect, Dialect, Json, string | null]>([
    [
      'an image in a system message',
      'chat',
      'messages',
      { messages: [{ role: 'system', content: [image] }, user('hi')] },
      'messages.0.content.0',
    ],
    [
      'an image in a developer item',
      'responses',
      'chat',
      { input: [{ role: 'developer', content: [inputImage] }, user('hi')] },
      'input.0.content.0',
    ],
    [
      'an image in a message of the assistant',
      'responses',
      'messages',
      { input: [{ role: 'assistant', content: [inputImage] }, user('hi')] },
      'input.0.content.0',
    ],
    [
      'a call in the member for old clients',
      'chat',
      'messages',
      { messages: [{ role: 'assistant', content: null, function_call: { name: 'read', arguments: '{}' } }] },
      'messages.0.function_call',
    ],
    [
      'audio that an earlier answer had',
      'chat',
      'responses',
      { messages: [{ role: 'assistant', content: null, audio: { id: 'audio_1' } }] },
      'messages.0.audio',
    ],
    [
      'an output format without a schema',
      'chat',
      'responses',
      { messages: [user('hi')], response_format: { type: 'json_schema', json_schema: { name: 'out' } } },
      'response_format.json_schema.schema',
    ],
    [
      'an output format without a schema, in the member for old clients',
      'messages',
      'chat',
      { output_format: { type: 'json_schema' } },
      'output_format.schema',
    ],
    ['an unknown output format', 'messages', 'chat', { output_format: { type: 'xml' } }, 'output_format'],
    [
      'an unknown output format in the newer member',
      'messages',
      'chat',
      { output_config: { format: { type: 'xml' } }, output_format: { type: 'json_schema' } },
      'output_config.format',
    ],
    [
      'moderation by the vendor',
      'responses',
      'messages',
      { input: 'hi', moderation: { model: 'omni-moderation-latest' } },
      'moderation',
    ],
    [
      'a file that is neither a text nor a PDF',
      'chat',
      'messages',
      { messages: [user([{ type: 'file', file: { file_data: 'data:application/msword;base64,AAAA' } }])] },
      'messages.0.content.0',
    ],
    [
      'an image whose data URL is not base64',
      'responses',
      'messages',
      { input: [user([{ type: 'input_image', image_url: 'data:image/svg+xml,<svg/>' }])] },
      'input.0.content.0',
    ],
  ])('%s', (_name, client, backend, body, path) => {
    expect(refusalOf(client, backend, body)).toBe(path)
  })

  it.each<[string, unknown, unknown]>([
    ['n', 2, 1],
    ['presence_penalty', 0.5, 0],
    ['frequency_penalty', -0.5, 0],
    ['logit_bias', { 50256: -100 }, {}],
    ['modalities', ['text', 'audio'], ['text']],
    ['web_search_options', {}, null],
    ['moderation', { model: 'omni-moderation-latest' }, null],
    ['functions', [{ name: 'read' }], []],
  ])('%s of a chat client, unless it asks for nothing', (name, value, nothing) => {
    const refused = (given: unknown) => refusalOf('chat', 'messages', { messages: [user('hi')], [name]: given })
    expect([refused(value), refused(nothing)]).toEqual([name, null])
  })

  it.each<[string, unknown, unknown]>([
    ['container', 'container_1', null],
    ['mcp_servers', [{ type: 'url', url: 'https://mcp.example', name: 'one' }], []],
    ['fallbacks', [{ model: 'b' }], []],
    ['inference_geo', 'eu', null],
    ['billing_policy', 'standard', null],
  ])('%s of a messages client, unless it asks for nothing', (name, value, nothing) => {
    const refused = (given: unknown) => refusalOf('messages', 'chat', { messages: [user('hi')], [name]: given })
    expect([refused(value), refused(nothing)]).toEqual([name, null])
  })

  it('domains that a search must leave out', () => {
    const caps = { ...DEFAULT_CAPS.responses, hostedSearch: true }
    expect(refusalOf('messages', 'responses', { tools: [read, search] }, { caps })).toBe('tools.1')
    // Where no search is offered, none is left out.
    expect(refusalOf('messages', 'responses', { tools: [read, search] })).toBe(null)
  })
})

describe('a document', () => {
  const notes = Buffer.from('Grüße').toString('base64')
  const file = { type: 'file', file: { filename: 'notes.md', file_data: `data:text/markdown;base64,${notes}` } }

  it('that is a text reaches a messages backend as text', () => {
    const { request } = pair('chat', 'messages', { messages: [user([file])] })
    expect(readList(messagesOf(request)[0]?.content)[0]).toMatchObject({
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'Grüße' },
      title: 'notes.md',
    })
  })

  it('that is a text reaches a model that reads no files, with its name', () => {
    const part = { type: 'input_file', filename: 'notes.md', file_data: `data:text/plain;base64,${notes}` }
    const { request } = pair('responses', 'chat', { input: [user([part])] })
    expect(messagesOf(request)[0]?.content).toBe('notes.md\nGrüße')
  })

  it('in the result of a tool is announced as a file to a chat backend', () => {
    const source = { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }
    const messages = [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'read', input: {} }] },
      user([{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'document', source }] }]),
    ]
    const caps = { ...DEFAULT_CAPS.chat, pdf: true }
    const { request } = pair('messages', 'chat', { messages }, { caps })
    expect(messagesOf(request)[1]?.content).toBe('The result is the file that follows.')
  })
})

describe('a conversation', () => {
  it('has texts of the assistant with all members that the types of a responses vendor require', () => {
    const messages = [user('hi'), { role: 'assistant', content: 'Yes.' }, user('go on')]
    const content: ResponseOutputText[] = [{ type: 'output_text', text: 'Yes.', annotations: [] }]
    expect(readList(pair('chat', 'responses', { messages }).request.input)[1]).toMatchObject({ content })
  })

  it('that has only system texts still has a turn of the user for a messages backend', () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: 'Say hi.' },
    ]
    const { request } = pair('chat', 'messages', { messages }, { caps: { ...MESSAGES, cacheMarks: 'none' } })
    expect(request).toMatchObject({
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [user([{ type: 'text', text: '<system>\nSay hi.\n</system>' }])],
    })
    const able = { ...MESSAGES, cacheMarks: 'none', midSystem: true } as const
    expect(pair('chat', 'messages', { messages }, { caps: able }).request).toEqual(request)
  })

  it('that has only system texts still has an item for a responses backend', () => {
    const { request } = pair('chat', 'responses', { messages: [{ role: 'system', content: 'Say hi.' }] })
    expect(request.instructions).toBe(undefined)
    expect(request.input).toEqual([
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Say hi.' }] },
    ])
  })

  it('has no system message between turns of the user when nothing is left of the assistant’s turn', () => {
    const messages = [
      user('a'),
      { role: 'system', content: 's' },
      { role: 'assistant', content: '' },
      user('b'),
      { role: 'assistant', content: 'c' },
      user('d'),
    ]
    const { request } = pair('chat', 'messages', { messages }, { caps: { ...MESSAGES, midSystem: true } })
    expect(messagesOf(request).map(({ role }) => role)).toEqual(['user', 'system', 'assistant', 'user'])
  })

  it('has the names of participants before what they say, and not before what the assistant says', () => {
    const messages = [
      { role: 'system', name: 'example_user', content: 'hi' },
      { ...user('What is this?'), name: 'ada' },
      { role: 'assistant', name: 'bot', content: 'A picture.' },
      { ...user([{ type: 'image_url', image_url: { url: IMAGE } }]), name: 'grace' },
    ]
    const caps = { ...MESSAGES, cacheMarks: 'none' } as const
    const said = (text: string) => ({ type: 'text', text })
    expect(pair('chat', 'messages', { messages }, { caps }).request).toMatchObject({
      system: [said('example_user:'), said('hi')],
      messages: [
        { content: [said('ada:'), said('What is this?')] },
        { content: [said('A picture.')] },
        { content: [said('grace:'), { type: 'image' }] },
      ],
    })
  })

  it('alternates for a chat backend, also where the user broke the assistant off while it was reasoning', () => {
    const thought = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] }
    const input = [user('a'), thought, user('b'), thought, { role: 'assistant', content: 'c' }, user('d')]
    const caps = { ...DEFAULT_CAPS.chat, reasoningReplay: 'required' } as const
    expect(pair('responses', 'chat', { input }, { caps }).request.messages).toEqual([
      user('a\n\nb'),
      { role: 'assistant', content: 'c', reasoning_content: 'Hm.' },
      user('d'),
    ])
  })

  it('may have a system message with settings only', () => {
    const messages = [user('a'), { role: 'system', output_config: { effort: 'low' } }]
    expect(messagesOf(pair('messages', 'chat', { messages }).request)).toHaveLength(1)
  })
})

describe('a token limit that is higher than that of the model', () => {
  const caps = { maxOutput: 8192 }

  it.each<[Dialect, Dialect, Json, string]>([
    ['messages', 'chat', { max_tokens: 128_000 }, 'max_tokens'],
    ['messages', 'responses', { max_tokens: 128_000 }, 'max_output_tokens'],
    ['chat', 'messages', { max_completion_tokens: 128_000 }, 'max_tokens'],
    ['responses', 'chat', { max_output_tokens: 128_000 }, 'max_tokens'],
  ])('is lowered to it, from %s to %s', (client, backend, body, member) => {
    expect(pair(client, backend, body, { caps }).request[member]).toBe(8192)
    expect(pair(client, backend, body).request[member]).toBe(128_000)
  })

  it('leaves a budget for reasoning below it', () => {
    const body = { max_tokens: 128_000, reasoning_effort: 'high' }
    const { request } = pair('chat', 'messages', body, { caps: { ...caps, thinking: 'budget' } })
    expect(Number(readObject(request.thinking).budget_tokens)).toBeLessThan(8192)
  })

  it('is not lowered where it is lower, and not added where the client gave none', () => {
    expect(pair('messages', 'chat', { max_tokens: 10 }, { caps }).request.max_tokens).toBe(10)
    expect(pair('responses', 'chat', {}, { caps }).request).not.toHaveProperty('max_tokens')
  })
})

describe('stop sequences', () => {
  const stopsIn = (backend: Dialect, client: Dialect, body: Json, text: string, caps = {}): unknown => {
    const { answer } = pair(client, backend, body, { caps })
    const content = [{ type: 'text', text }]
    const whole = {
      messages: { type: 'message', content, stop_reason: 'end_turn', usage: { input_tokens: 3, output_tokens: 2 } },
      chat: { choices: [{ index: 0, message: { content: text }, finish_reason: 'stop' }] },
      responses: null,
    }
    const made = answer.whole(whole[backend])
    return 'answer' in made ? made.answer : made
  }

  it('beyond the four that chat vendors take are applied by this service', () => {
    const stop_sequences = ['A', 'B', 'C', 'D', 'E']
    expect(pair('messages', 'chat', { stop_sequences }).request.stop).toEqual(['A', 'B', 'C', 'D'])
    const message = stopsIn('chat', 'messages', { stop_sequences }, 'one E two')
    expect(message).toMatchObject({ content: [{ text: 'one ' }], stop_reason: 'stop_sequence', stop_sequence: 'E' })
  })

  it('are applied by this service where a chat model refuses them together with the temperature', () => {
    const caps = { sampling: false }
    const body = { stop_sequences: ['B'], temperature: 0.5 }
    const { request } = pair('messages', 'chat', body, { caps })
    expect(request).not.toHaveProperty('stop')
    expect(request).not.toHaveProperty('temperature')
    const message = stopsIn('chat', 'messages', body, 'one B two', caps)
    expect(message).toMatchObject({ content: [{ text: 'one ' }], stop_reason: 'stop_sequence', stop_sequence: 'B' })
  })

  it('of white space, which messages vendors refuse, are applied by this service', () => {
    expect(pair('chat', 'messages', { stop: '\n' }).request.stop_sequences).toBe(undefined)
    expect(stopsIn('messages', 'chat', { stop: '\n' }, 'one\ntwo')).toMatchObject({
      choices: [{ message: { content: 'one' }, finish_reason: 'stop', stop_reason: '\n' }],
      usage: { prompt_tokens: 3 },
    })
  })
})

describe('an output schema for a messages backend', () => {
  const schemaFor = (schema: Json): unknown => {
    const response_format = { type: 'json_schema', json_schema: { name: 'out', schema } }
    return readObject(readObject(pair('chat', 'messages', { response_format }).request.output_config).format).schema
  }

  it('has closed objects, because the vendor refuses others', () => {
    const inner = { type: ['object', 'null'], properties: {}, additionalProperties: true }
    expect(schemaFor({ type: 'object', properties: { a: inner, b: { type: 'array', items: inner } } })).toEqual({
      type: 'object',
      properties: {
        a: { type: ['object', 'null'], properties: {}, additionalProperties: false },
        b: { type: 'array', items: { type: ['object', 'null'], properties: {}, additionalProperties: false } },
      },
      additionalProperties: false,
    })
  })

  it.each<[string, Json, Json]>([
    ['a pattern', { type: 'string', pattern: '^a' }, { type: 'string', description: 'pattern: "^a"' }],
    ['a known format', { type: 'string', format: 'date' }, { type: 'string', format: 'date' }],
    ['an unknown format', { type: 'string', format: 'iban' }, { type: 'string', description: 'format: "iban"' }],
    ['one of several', { oneOf: [{ type: 'null' }] }, { anyOf: [{ type: 'null' }] }],
    ['a reference', { $ref: '#/$defs/a', description: 'An a.' }, { $ref: '#/$defs/a' }],
    ['a default', { type: 'string', default: 'x' }, { type: 'string', description: 'default: "x"' }],
    [
      'a constraint that is true',
      { type: 'array', uniqueItems: true },
      { type: 'array', description: 'uniqueItems: true' },
    ],
    [
      'a property that is named like a keyword',
      { properties: { pattern: { type: 'string' } } },
      {
        properties: { pattern: { type: 'string' } },
        additionalProperties: false,
      },
    ],
  ])('writes %s so that the vendor takes it', (_name, given, written) => {
    expect(schemaFor({ type: 'array', items: given })).toEqual({ type: 'array', items: written })
  })
})

describe('tools', () => {
  it('are strict for a messages model that supports it', () => {
    const tools = [{ type: 'function', function: { name: 'read', parameters: { type: 'object' }, strict: true } }]
    expect(toolsOf(pair('chat', 'messages', { tools }).request)[0]?.strict).toBe(undefined)
    const caps = { ...MESSAGES, strictTools: true }
    expect(toolsOf(pair('chat', 'messages', { tools }, { caps }).request)[0]?.strict).toBe(true)
  })

  it('are called one after the other by a messages model where the client says so', () => {
    const tools = [{ type: 'function', function: { name: 'read' } }]
    const choiceOf = (tool_choice: unknown) =>
      pair('chat', 'messages', { tools, tool_choice, parallel_tool_calls: false }).request.tool_choice
    const [disabled, named] = [{ disable_parallel_tool_use: true }, { type: 'function', function: { name: 'read' } }]
    expect(choiceOf(named)).toEqual({ type: 'tool', name: 'read', ...disabled })
    expect(choiceOf('required')).toEqual({ type: 'any', ...disabled })
    expect(choiceOf(undefined)).toEqual({ type: 'auto', ...disabled })
  })

  it('are called one after the other by a responses model where the client says so and any may be called', () => {
    const tools = [{ type: 'function', function: { name: 'read' } }]
    const sent = (tool_choice: string) =>
      pair('chat', 'responses', { tools, tool_choice, parallel_tool_calls: false }).request
    expect(sent('auto')).toHaveProperty('parallel_tool_calls', false)
    expect(sent('none')).not.toHaveProperty('parallel_tool_calls')
  })

  it('without a type are functions', () => {
    const tools = [{ function: { name: 'read' } }]
    expect(toolsOf(pair('chat', 'responses', { tools }).request)[0]).toMatchObject({ type: 'function', name: 'read' })
  })

  it('whose schema is a reference keep the arguments that it describes', () => {
    const $defs = { Args: { type: 'object', properties: { path: { type: 'string' } } } }
    const tools = [{ type: 'function', name: 'read', parameters: { $ref: '#/$defs/Args', $defs } }]
    const { request } = pair('responses', 'messages', { input: 'hi', tools })
    expect(toolsOf(request)[0]?.input_schema).toEqual({ ...$defs.Args, $defs })
  })

  it('cannot be required by a name that is not offered, also beside a web search', () => {
    const tools = [
      { name: 'read', defer_loading: true },
      { type: 'web_search_20250305', name: 'web_search' },
    ]
    const options = { caps: { ...DEFAULT_CAPS.responses, hostedSearch: true } }
    const tool_choice = { type: 'tool', name: 'read' }
    expect(refusalOf('messages', 'responses', { tools, tool_choice }, options)).toBe('tool_choice')
  })

  it('that are required without their namespace are the first of this name', () => {
    const namespaces = ['one', 'two'].map((name) => ({
      type: 'namespace',
      name,
      tools: [{ type: 'function', name: 'f' }],
    }))
    const body = { input: 'hi', tools: namespaces, tool_choice: { type: 'function', name: 'f' } }
    expect(pair('responses', 'messages', body).request.tool_choice).toEqual({ type: 'tool', name: 'one__f' })
  })

  it('may be required where the only one is a web search', () => {
    const body = { input: 'hi', tools: [{ type: 'web_search' }], tool_choice: 'required' }
    const caps = { ...MESSAGES, hostedSearch: true }
    expect(pair('responses', 'messages', body, { caps }).request.tool_choice).toEqual({ type: 'any' })
    expect(refusalOf('responses', 'messages', body)).toBe('tool_choice')
  })
})

describe('a web search', () => {
  const caps = { ...MESSAGES, hostedSearch: true }
  const searched = (tool: Json) => pair('responses', 'messages', { tools: [{ type: 'web_search', ...tool }] }, { caps })

  it('names the kind of the user’s place, which messages vendors require', () => {
    const { request } = searched({ user_location: { country: 'CH' } })
    expect(toolsOf(request)[0]?.user_location).toEqual({ type: 'approximate', country: 'CH' })
  })

  it('of the vendor’s index only is withheld, because a messages backend would fetch pages', () => {
    const { request } = searched({ external_web_access: false })
    expect(request.tools).toBe(undefined)
    expect(JSON.stringify(request.system)).toContain('web_search is not available')
  })

  it('is withheld from a chat backend, also where the model has one at its backends of other dialects', () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }, { name: 'read' }]
    const options = { caps: { ...DEFAULT_CAPS.chat, hostedSearch: true } }
    const { request } = pair('messages', 'chat', { tools }, options)
    expect(JSON.stringify(request.messages)).toContain('web_search_20250305 is not available')
    expect(refusalOf('messages', 'chat', { tools: tools.slice(0, 1) }, options)).toBe('tools.0')
  })
})

it('the number of likeliest tokens reaches only models that take it', () => {
  const { request } = pair('messages', 'chat', { top_k: 40 })
  expect(request.top_k).toBe(undefined)
  const caps = { ...DEFAULT_CAPS.chat, topK: true }
  expect(pair('messages', 'chat', { top_k: 40 }, { caps }).request.top_k).toBe(40)
})

it.each(['chat', 'responses'] as const)('hints reach a %s backend only where it accepts them', (backend) => {
  const [client, verbosity] =
    backend === 'chat'
      ? (['responses', { text: { verbosity: 'low' } }] as const)
      : (['chat', { verbosity: 'low' }] as const)
  const hintsOf = (vendorHints: boolean) => {
    const caps = { ...DEFAULT_CAPS[backend], vendorHints }
    const { prompt_cache_key: key, ...rest } = pair(
      client,
      backend,
      { ...verbosity, prompt_cache_key: 'k' },
      { caps },
    ).request
    return [key, backend === 'chat' ? rest.verbosity : rest.text]
  }
  expect(hintsOf(true)).toEqual(['k', backend === 'chat' ? 'low' : { verbosity: 'low' }])
  expect(hintsOf(false)).toEqual([undefined, undefined])
})

it.each<[Dialect, Dialect, Json, Json]>([
  ['messages', 'chat', { temperature: 0, top_p: 0.9 }, { temperature: 0, top_p: 0.9 }],
  ['chat', 'responses', { temperature: 1.5, top_p: 0.5 }, { temperature: 1.5, top_p: 0.5 }],
  ['messages', 'responses', { temperature: 0, top_p: 0.9, top_k: 40 }, { temperature: 0, top_p: 0.9 }],
  ['chat', 'messages', { temperature: 1.5, top_p: 0.5 }, { temperature: 1 }],
  ['responses', 'messages', { temperature: -1 }, { temperature: 0 }],
  ['chat', 'messages', { top_p: 0.5, top_k: 40 }, { top_p: 0.5, top_k: 40 }],
])('the sampling of %s reaches a %s backend only where its model can sample: %j', (client, backend, asked, sent) => {
  const caps = DEFAULT_CAPS[backend]
  const samplingOf = (sampling: boolean) => {
    const { temperature, top_p, top_k } = pair(client, backend, asked, {
      caps: { ...caps, sampling, topK: sampling },
    }).request
    return { temperature, top_p, top_k }
  }
  expect(samplingOf(true)).toEqual(sent)
  expect(samplingOf(false)).toEqual({})
})

it('numbers are read in any notation of JSON, as Python and R write them', () => {
  const asked = '{"temperature":1e-05,"top_p":0.900000000000000022,"max_tokens":4.096e3,"max_completion_tokens":1e+05}'
  expect(pair('chat', 'responses', parseExactly(asked) ?? {}).request).toMatchObject({
    temperature: 0.00001,
    top_p: 0.9,
    max_output_tokens: 100_000,
  })
  expect(refusalOf('chat', 'responses', parseExactly('{"presence_penalty":5e-1}') ?? {})).toBe('presence_penalty')
  expect(refusalOf('chat', 'responses', parseExactly('{"n":2e0}') ?? {})).toBe('n')
})

it('the reasoning of a messages model with a budget is summarized, and is dropped where its prompt has changed', () => {
  const caps = { ...MESSAGES, thinking: 'budget', blockBinding: true } as const
  expect(pair('chat', 'messages', { reasoning_effort: 'low' }, { caps }).request.thinking).toEqual({
    type: 'enabled',
    budget_tokens: 2048,
    display: 'summarized',
    block_binding: { prefix_mismatch_behavior: 'drop_block' },
  })
})

it.each([
  ['minimal', 1024],
  ['low', 2048],
  ['medium', 8192],
  ['high', 24_576],
])('the effort %s is a budget of %i tokens for reasoning', (effort, budget) => {
  const caps = { ...MESSAGES, thinking: 'budget', efforts: ['minimal', 'low', 'medium', 'high'] } as const
  const { thinking } = pair('chat', 'messages', { reasoning_effort: effort }, { caps }).request
  expect(readObject(thinking).budget_tokens).toBe(budget)
})

it.each(['adaptive', 'budget'] as const)(
  'a model with %s reasoning does not reason where its next effort is none',
  (thinking) => {
    const caps = { ...MESSAGES, thinking, efforts: ['none', 'high'] } as const
    const { request } = pair('chat', 'messages', { reasoning_effort: 'low' }, { caps })
    expect(request.thinking).toEqual({ type: 'disabled' })
    expect(request.output_config).toBe(undefined)
  },
)

it.each<[Dialect, string]>([
  ['chat', 'user'],
  ['responses', 'safety_identifier'],
  ['messages', 'metadata'],
])('the client’s name of its user is left out for a %s model that refuses it', (backend, member) => {
  const client = backend === 'messages' ? 'chat' : 'messages'
  const body = client === 'chat' ? { user: 'u1' } : { metadata: { user_id: 'u1' } }
  expect(pair(client, backend, body).request).toHaveProperty(member)
  expect(pair(client, backend, body, { caps: { userHint: false } }).request).not.toHaveProperty(member)
})

it('the safety identifier comes before the old name of the user in both dialects', () => {
  const both = { user: 'old', safety_identifier: 'new' }
  expect(pair('chat', 'messages', both).request.metadata).toEqual({ user_id: 'new' })
  expect(pair('responses', 'messages', both).request.metadata).toEqual({ user_id: 'new' })
})
