/** Bugs that other gateways had with requests, each by its report. */
import { describe, expect, it } from 'vitest'
import { DEFAULT_CAPS } from '../../src/gateway/dialects/caps.ts'
import type { ModelCaps } from '../../src/gateway/dialects/caps.ts'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { estimateTokens } from '../../src/gateway/dialects/tokens/count-tokens.ts'
import { isObject } from '../../src/kernel/json.ts'
import { pair, refusalOf } from './pairs.ts'

const blocksOf = (message: unknown): Json[] => readList(readObject(message).content).map(readObject)
const messagesOf = (request: Json): Json[] => readList(request.messages).map(readObject)
const itemsOf = (request: Json): Json[] => readList(request.input).map(readObject)
const toolsOf = (request: Json): Json[] => readList(request.tools).map(readObject)

const PNG = 'data:image/png;base64,AAAA'
const READ = { type: 'function', name: 'read', parameters: { type: 'object', properties: {} } }
const PATCH = { type: 'custom', name: 'apply_patch', description: 'Patches.' }
const system = (text: string) => ({ role: 'developer', content: [{ type: 'input_text', text }] })
const user = (text: string) => ({ role: 'user', content: [{ type: 'input_text', text }] })
const said = (text: string) => ({ role: 'assistant', content: [{ type: 'output_text', text }] })
const called = (id: string) => ({ type: 'function_call', call_id: id, name: 'read', arguments: '{}' })
const output = (id: string, value: unknown = 'x') => ({ type: 'function_call_output', call_id: id, output: value })
const use = (id: string) => ({ type: 'tool_use', id, name: 'read', input: {} })
const result = (id: string, content: unknown) => ({ type: 'tool_result', tool_use_id: id, content })

describe('system texts', () => {
  const mid = { instructions: 'a', input: [system('b'), user('hi'), said('yes'), system('c'), user('go')] }

  it('meridian#966: a developer text in mid-conversation is not folded into the system prompt', () => {
    const { request } = pair('responses', 'messages', mid)
    expect(readList(request.system).map((block) => readObject(block).text)).toEqual(['a', 'b'])
    const last = blocksOf(messagesOf(request).at(-1)).map(({ text }) => text)
    expect(last).toEqual(['<system>\nc\n</system>', 'go'])
  })

  it('OmniRoute#6954: a system turn does not become the assistant’s', () => {
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'c' },
    ]
    expect(itemsOf(pair('messages', 'responses', { messages }).request).map(({ role }) => role)).toEqual([
      'user',
      'developer',
    ])
  })

  it('sub2api#3850: instructions and developer parts both arrive', () => {
    const { request } = pair('responses', 'chat', { instructions: 'a', input: [system('b'), user('hi')] })
    expect(messagesOf(request)[0]).toEqual({ role: 'system', content: 'a\n\nb' })
  })

  it('litellm#39282: a chat engine gets one system message, at the start', () => {
    expect(messagesOf(pair('responses', 'chat', mid).request).map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
    ])
  })
})

describe('results of tools', () => {
  it('rowboat#378, opencode#41445: the results of parallel calls are in one turn of the user, before its texts', () => {
    const input = [called('a'), called('b'), output('a'), user('and'), output('b')]
    const { request } = pair('responses', 'messages', { input })
    expect(messagesOf(request).map(({ role }) => role)).toEqual(['assistant', 'user'])
    expect(blocksOf(messagesOf(request)[1]).map(({ type }) => type)).toEqual(['tool_result', 'tool_result', 'text'])
  })

  it('CLIProxyAPI#4116, OmniRoute#8459: an image in a result stays an image', () => {
    const input = [called('a'), output('a', [{ type: 'input_image', image_url: PNG }])]
    const [shown] = blocksOf(messagesOf(pair('responses', 'messages', { input }).request)[1])
    expect(shown?.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ])
  })

  it('litellm#23712, sglang#19233: an image in a result is not dropped', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const messages = [
      { role: 'assistant', content: [use('a')] },
      { role: 'user', content: [result('a', [image])] },
    ]
    expect(JSON.stringify(pair('messages', 'chat', { messages }).request.messages)).toContain(PNG)
    const [, shown] = itemsOf(pair('messages', 'responses', { messages }).request)
    expect(shown?.output).toEqual([{ type: 'input_image', image_url: PNG, detail: 'auto' }])
  })

  it('CLIProxyAPI#4998, litellm#16711: a result that the client has sent twice is there once', () => {
    const input = [called('a'), called('b'), output('a', 'lost'), output('b'), output('a', 'again'), user('and')]
    const [, results] = messagesOf(pair('responses', 'messages', { input }).request)
    expect(blocksOf(results)).toMatchObject([
      { tool_use_id: 'a', content: [{ text: 'again' }] },
      { tool_use_id: 'b' },
      { type: 'text', text: 'and' },
    ])
    const { request } = pair('messages', 'chat', {
      messages: [
        { role: 'assistant', content: [use('a')] },
        { role: 'user', content: [result('a', 'x'), result('a', 'x')] },
      ],
    })
    expect(messagesOf(request).filter(({ role }) => role === 'tool')).toHaveLength(1)
  })

  it('opencode#1680, hermes-agent#20154: a model with strict rules gets short ids, and no user after a result', () => {
    const messages = [
      { role: 'assistant', content: [use('toolu_01A')] },
      { role: 'user', content: [result('toolu_01A', 'x'), { type: 'text', text: 'and' }] },
    ]
    const id: unknown = expect.stringMatching(/^[a-zA-Z0-9]{9}$/)
    const sent = messagesOf(pair('messages', 'chat', { messages }, { caps: { strictHistory: true } }).request)
    expect(sent).toMatchObject([
      { role: 'assistant', tool_calls: [{ id }] },
      { role: 'tool', tool_call_id: id },
      { role: 'assistant', content: 'OK.' },
      { role: 'user', content: 'and' },
    ])
    expect(sent[1]?.tool_call_id).toBe(readObject(readList(sent[0]?.tool_calls)[0]).id)
  })

  it.each([
    ['image/png', Buffer.from([0xff, 0xd8, 0xff, 0xe0]), 'image/jpeg'],
    ['image/jpg', Buffer.from([0xff, 0xd8, 0xff, 0xdb]), 'image/jpeg'],
    ['image/jpeg', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'image/png'],
    ['image/png', Buffer.from('RIFF\0\0\0\0WEBP'), 'image/webp'],
    ['image/png', Buffer.from('GIF89a'), 'image/gif'],
    ['image/bmp', Buffer.from('BM'), 'image/bmp'],
  ])(
    'hermes-agent#55432, claude-code#12009: an image that is called %s has the type of its bytes',
    (type, bytes, is) => {
      const url = `data:${type};base64,${bytes.toString('base64')}`
      const content = [{ type: 'image_url', image_url: { url } }]
      const [turn] = messagesOf(pair('chat', 'messages', { messages: [{ role: 'user', content }] }).request)
      expect(blocksOf(turn)[0]).toMatchObject({ source: { media_type: is, data: bytes.toString('base64') } })
    },
  )

  it('OpenMinis#222, OmniRoute#417: a result without its call is refused by its place', () => {
    expect(refusalOf('responses', 'messages', { input: [output('lost')] })).toBe('input.0.call_id')
    const messages = [{ role: 'user', content: [result('lost', 'x')] }]
    expect(refusalOf('messages', 'responses', { messages })).toBe('messages.0.content.0.tool_use_id')
    expect(refusalOf('chat', 'messages', { messages: [{ role: 'tool', tool_call_id: 'lost', content: 'x' }] })).toBe(
      'messages.0.tool_call_id',
    )
  })

  it('hermes-agent#11929: an empty text beside calls is no block', () => {
    const call = { id: 'a', type: 'function', function: { name: 'read', arguments: '' } }
    const messages = [
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: '' },
    ]
    expect(blocksOf(messagesOf(pair('chat', 'messages', { messages }).request)[0])).toEqual([use('a')])
  })

  it('broken arguments in a history become JSON for a chat backend, whose engine would refuse the conversation', () => {
    const input = [user('hi'), { ...called('a'), arguments: '{"path": "a' }, output('a')]
    const [, turn] = readList(pair('responses', 'chat', { input }).request.messages).map(readObject)
    const { arguments: args } = readObject(readObject(readList(turn?.tool_calls)[0]).function)
    expect(args).toBe(JSON.stringify({ __raw: '{"path": "a' }))
  })

  it('kilocode#8260: a last turn of the assistant is refused where the model does not go on with it', () => {
    expect(refusalOf('responses', 'messages', { input: [user('hi'), said('so')] })).toBe('input.1')
  })
})

describe('tools', () => {
  it.each(['responses', 'chat'] as const)(
    'LibreChat#13162, theia#16122, docker-agent#2251: a tool that is listed twice is offered once, as it was last (%s)',
    (client) => {
      const asTool = (name: string, description: string) =>
        client === 'chat'
          ? { type: 'function', function: { name, description } }
          : { type: 'function', name, description }
      const search = client === 'chat' ? [] : [{ type: 'web_search' }, { type: 'web_search' }]
      const tools = [asTool('read', 'old'), asTool('write', 'W'), asTool('read', 'new'), ...search]
      const { request } = pair(client, 'messages', { tools }, { caps: { hostedSearch: true } })
      const offered = toolsOf(request).map(({ name, description }) => [name, description])
      const searched = client === 'chat' ? [] : [['web_search', undefined]]
      expect(offered).toEqual([['read', 'new'], ['write', 'W'], ...searched])
      expect(JSON.stringify(request)).not.toContain('not available')
    },
  )

  it('LibreChat#13162: a search of the client takes the place of the vendor’s of the same name', () => {
    const tools = [{ type: 'function', name: 'web_search' }, { type: 'web_search' }]
    const { request } = pair('responses', 'messages', { tools }, { caps: { hostedSearch: true } })
    expect(toolsOf(request)).toMatchObject([{ name: 'web_search', input_schema: {} }])
  })

  it('keep their arguments where a program wrote them as an object', () => {
    const args = { path: 'a', line: 1 }
    const call = { id: 'c1', type: 'function', function: { name: 'read', arguments: args } }
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call] },
    ]
    const results = [{ role: 'tool', tool_call_id: 'c1', content: 'x' }]
    const chat = pair('chat', 'messages', { messages: [...messages, ...results] }).request
    expect(messagesOf(chat).flatMap(blocksOf)).toMatchObject([{}, { type: 'tool_use', input: args }, {}])
    const input = [user('hi'), { ...called('c1'), arguments: args }, output('c1')]
    const responses = pair('responses', 'messages', { input }).request
    expect(messagesOf(responses).flatMap(blocksOf)).toMatchObject([{}, { type: 'tool_use', input: args }, {}])
  })

  it('sub2api#3390: a custom tool gets the schema of an object', () => {
    const [tool] = toolsOf(pair('responses', 'messages', { tools: [PATCH] }).request)
    expect(tool).toMatchObject({ name: 'apply_patch', input_schema: { type: 'object', required: ['input'] } })
  })

  it('CLIProxyAPI#5753: a responses backend without custom tools gets a function', () => {
    const caps: ModelCaps = { ...DEFAULT_CAPS.responses, customTools: false }
    const custom = { type: 'custom', custom: { name: 'apply_patch' } }
    expect(toolsOf(pair('chat', 'responses', { tools: [custom] }, { caps }).request)[0]).toMatchObject({
      type: 'function',
    })
    expect(toolsOf(pair('chat', 'responses', { tools: [custom] }).request)[0]).toMatchObject({ type: 'custom' })
  })

  it('litellm#36182: a backend is sent no namespace', () => {
    const tools = [{ type: 'namespace', name: 'functions', tools: [READ] }]
    const { request } = pair('responses', 'messages', { tools })
    expect(toolsOf(request).map(({ name }) => name)).toEqual(['functions__read'])
    expect(JSON.stringify(request)).not.toContain('namespace')
  })

  it('codex#31894: tools in an additional_tools item are tools', () => {
    const input = [
      { type: 'additional_tools', tools: [READ, { type: 'namespace', name: 'n', tools: [PATCH] }] },
      user('hi'),
    ]
    const { request } = pair('responses', 'chat', { input })
    expect(toolsOf(request).map((tool) => readObject(tool.function).name)).toEqual(['read', 'n__apply_patch'])
  })

  it('CLIProxyAPI#5555, open-webui#30046: a tool that is not strict says so to a responses backend', () => {
    const tools = [{ name: 'read', input_schema: { type: 'object' } }]
    expect(toolsOf(pair('messages', 'responses', { tools }).request)[0]?.strict).toBe(false)
  })

  it('GoModel#963: keywords that a messages backend refuses are told in words', () => {
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 1, description: 'A number.' } } }
    const text = { format: { type: 'json_schema', name: 'out', schema } }
    const { format } = readObject(pair('responses', 'messages', { text }).request.output_config)
    expect(readObject(format).schema).toEqual({
      type: 'object',
      properties: { n: { type: 'integer', description: 'A number. minimum: 1' } },
      additionalProperties: false,
    })
  })

  it('mastra#7507, oh-my-pi#341: a demanded tool turns thinking off', () => {
    const caps: ModelCaps = { ...DEFAULT_CAPS.messages, thinking: 'adaptive' }
    const body = { tools: [READ], reasoning: { effort: 'high' } }
    expect(pair('responses', 'messages', body, { caps }).request.thinking).toMatchObject({ type: 'adaptive' })
    const demanded = pair('responses', 'messages', { ...body, tool_choice: 'required' }, { caps }).request
    expect([demanded.thinking, demanded.tool_choice]).toEqual([undefined, { type: 'any' }])
  })

  it('OmniRoute#2936: a search tool is never sent as a function', () => {
    for (const backend of ['chat', 'messages'] as const) {
      const { request } = pair('responses', backend, { tools: [READ, { type: 'web_search' }] })
      expect(toolsOf(request)).toHaveLength(1)
    }
    const caps: ModelCaps = { ...DEFAULT_CAPS.messages, hostedSearch: true }
    const searching = pair('responses', 'messages', { tools: [{ type: 'web_search' }] }, { caps }).request
    expect(toolsOf(searching)).toEqual([{ type: 'web_search_20250305', name: 'web_search' }])
  })

  it('ayunis-core#973: cleaned names do not collide', () => {
    const tools = ['a.b', 'a_b', 'a b'].map((name) => ({ ...READ, name }))
    const names = toolsOf(pair('responses', 'chat', { tools }).request).map((tool) => readObject(tool.function).name)
    expect(new Set(names).size).toBe(3)
    expect(names[1]).toBe('a_b')
  })
})

describe('limits and marks', () => {
  it('The-PR-Agent#2456, Roo-Code#12162: temperature is not sent to a model that refuses its presence', () => {
    expect('temperature' in pair('chat', 'messages', { temperature: 1 }).request).toBe(false)
    const caps: ModelCaps = { ...DEFAULT_CAPS.messages, sampling: true }
    expect(pair('chat', 'messages', { temperature: 1.5 }, { caps }).request.temperature).toBe(1)
  })

  it('litellm#3286: a stop sequence of white space is not sent', () => {
    expect(pair('chat', 'messages', { stop: ['\n', 'END'] }).request.stop_sequences).toEqual(['END'])
  })

  it('litellm#31536, cc-switch#7287: a limit below the least is raised', () => {
    expect(pair('messages', 'responses', { max_tokens: 1 }).request.max_output_tokens).toBe(16)
  })

  it('cc-switch#5215: the limit goes by the name that the model wants', () => {
    const caps: ModelCaps = { ...DEFAULT_CAPS.chat, limitName: 'max_completion_tokens' }
    const { request } = pair('messages', 'chat', { max_tokens: 9 }, { caps })
    expect([request.max_tokens, request.max_completion_tokens]).toEqual([undefined, 9])
  })

  const mark = { prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } }
  const marked = (text: string) => ({ role: 'user', content: [{ type: 'text', text, ...mark }] })
  const marksOf = (request: Json): string[] =>
    messagesOf(request).flatMap((message) =>
      blocksOf(message).flatMap(({ text, cache_control }) => (isObject(cache_control) ? [String(text)] : [])),
    )

  it('sub2api#176, litellm#30480: of five marks the earliest is left out', () => {
    const messages = ['a', 'b', 'c', 'd', 'e'].map(marked)
    expect(marksOf(pair('chat', 'messages', { messages }).request)).toEqual(['b', 'c', 'd', 'e'])
  })

  it('axonhub#2342: the marks of the client stay where they are from turn to turn', () => {
    const first = pair('chat', 'messages', { messages: [marked('a'), { role: 'user', content: 'b' }] }).request
    const more = [
      marked('a'),
      { role: 'user', content: 'b' },
      { role: 'assistant', content: 'c' },
      { role: 'user', content: 'd' },
    ]
    expect([marksOf(first), marksOf(pair('chat', 'messages', { messages: more }).request)]).toEqual([['a'], ['a']])
  })

  it('litellm#39145: each session has a cache key of its own', () => {
    const keyOf = (session: string) => {
      const user_id = JSON.stringify({ device_id: 'd'.repeat(64), account_uuid: 'x', session_id: session })
      return pair('messages', 'responses', { metadata: { user_id } }).request.prompt_cache_key
    }
    expect([keyOf('s1'), keyOf('s2')]).toEqual(['s1', 's2'])
  })

  it('pi#4719: a cache key of 67 characters becomes its digest', () => {
    const key = (prompt_cache_key: string) => pair('chat', 'responses', { prompt_cache_key }).request.prompt_cache_key
    expect(key('k'.repeat(64))).toBe('k'.repeat(64))
    expect(key('k'.repeat(67))).toMatch(/^[0-9a-f]{64}$/)
  })

  it('CLIProxyAPI#4103: an estimate of tokens counts the client’s request and nothing else', () => {
    expect(estimateTokens('messages', { messages: [] })).toEqual({ inputTokens: 0 })
    expect(estimateTokens('messages', { messages: [{ role: 'user', content: 'abcdefghi' }] })).toEqual({
      inputTokens: 4,
    })
    expect(estimateTokens('responses', { input: 'abcdefghi' })).toEqual({ inputTokens: 4 })
  })

  it('codex-lb#971, CLIProxyAPI#4848: a compaction is answered with its item, and nothing else', () => {
    const { answer } = pair('responses', 'messages', { input: [user('hi'), { type: 'compaction_trigger' }] })
    const content = [{ type: 'text', text: 'They said hi.' }]
    const usage = { input_tokens: 3, output_tokens: 4 }
    const whole = answer.whole({ id: 'msg_1', type: 'message', content, stop_reason: 'end_turn', usage })
    expect(whole).toMatchObject({ answer: { output: [{ type: 'compaction' }] } })
  })
})
