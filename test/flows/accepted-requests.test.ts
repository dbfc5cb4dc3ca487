/** Backends whose models refuse what others accept. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { bodyOf, GATEWAY_PATHS, greeting, saysHello } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { Script, TestUpstream } from '../support/upstream.ts'

let vendor: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  vendor = await startUpstream()
  const backend = { url: vendor.url.href, basePath: '/v1', credential: null }
  const serve = [serveEntry('vendor', 'large')]
  const atResponses = [serveEntry('vendor-responses', 'large')]
  gateway = await startGateway({
    backends: [
      { name: 'vendor', dialects: ['chat'], ...backend },
      { name: 'vendor-responses', dialects: ['responses'], ...backend },
      { name: 'vendor-messages', dialects: ['messages'], ...backend },
    ],
    team: {
      models: [
        servedModel('any/reasoning', { caps: { reasoningReplay: 'required' }, serve }),
        servedModel('any/strict', { caps: { strictHistory: true }, serve }),
        servedModel('any/few-members', { caps: { streamUsage: false, userHint: false }, serve }),
        servedModel('any/new-name', { caps: { limitName: 'max_completion_tokens' }, serve }),
        servedModel('any/old-name', { caps: { limitName: 'max_tokens' }, serve }),
        servedModel('any/other', { serve }),
        ...['new', 'old', 'either', 'translated', 'untold', 'both', 'values'].map((name) =>
          servedModel(`any/${name}`, { serve: [serveEntry('vendor', name)] }),
        ),
        ...['groq', 'grammar', 'grammar-claude', 'json'].map((name) =>
          servedModel(`any/${name}`, { serve: [serveEntry('vendor', name)] }),
        ),
        ...['untold', 'untold-claude', 'unreasoning-codex', 'unreasoning-claude'].map((name) =>
          servedModel(`responses/${name}`, { serve: [serveEntry('vendor-responses', name)] }),
        ),
        ...['responses', 'messages'].flatMap((dialect) =>
          ['grammar-responses', 'grammar-messages'].map((name) =>
            servedModel(`${dialect}/${name}`, { serve: [serveEntry(`vendor-${dialect}`, name)] }),
          ),
        ),
        servedModel('any/no-effort', { caps: { efforts: [] }, serve }),
        servedModel('responses/no-reasoning', { caps: { reasoningReplay: 'refused' }, serve: atResponses }),
        servedModel('responses/no-effort', { caps: { efforts: [], userHint: false }, serve: atResponses }),
      ],
    },
  })
})
afterAll(async () => {
  for (const one of [gateway, vendor]) await one[Symbol.asyncDispose]()
})
beforeEach(() => vendor.restart(saysHello('chat')))

const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"n":12345678901234567890}' } }
const turn = { role: 'assistant', content: null, tool_calls: [call] }
const result = { role: 'tool', tool_call_id: 'call_1', content: 'sun' }
const SEALED = { type: 'reasoning.encrypted', format: 'svc1', data: 'svc1.e30.data.mac' }

/** The messages as the backend gets them. */
async function sentHistory(model: string, messages: readonly object[]): Promise<unknown> {
  const response = await gateway.post(GATEWAY_PATHS.chat, { ...greeting('chat', model), messages })
  expect(response.status).toBe(200)
  return bodyOf(vendor.last()).messages
}

/** The turn of the assistant as the backend gets it. */
async function sentTurn(model: string, message: object) {
  const messages = await sentHistory(model, [{ role: 'user', content: 'Hi' }, message, result])
  return (messages as unknown[])[1]
}

it('gets a reasoning of one space for a turn that has none, or an empty one', async () => {
  const expected = { ...turn, reasoning_content: ' ' }
  expect(await sentTurn('any/reasoning', turn)).toEqual(expected)
  expect(await sentTurn('any/reasoning', { ...turn, reasoning_content: '' })).toEqual(expected)
  expect(vendor.last().body.toString()).toContain('12345678901234567890')
  const text = { role: 'assistant', content: 'Hello' }
  expect(await sentTurn('any/reasoning', text)).toEqual({ ...text, reasoning_content: ' ' })
})

it('gets a reasoning of one space in place of that of another backend, which it cannot read', async () => {
  const foreign = { ...turn, reasoning_content: 'Let me see.', reasoning_details: [SEALED] }
  expect(await sentTurn('any/reasoning', foreign)).toEqual({ ...turn, reasoning_content: ' ' })
})

it.each([
  ['its own reasoning', 'any/reasoning', { ...turn, reasoning_content: 'Let me see.' }],
  ['a turn with calls, for a model that requires nothing', 'any/other', turn],
])('gets %s as it is', async (_name, model, message) => {
  expect(await sentTurn(model, message)).toEqual(message)
})

const hello = { role: 'user', content: 'Hi' }

it('gets ids of nine letters and digits, and a message between results and the user, with strict rules', async () => {
  const own = { id: 'aB3dE6gH9', type: 'function', function: { name: 'weather', arguments: '{}' } }
  const both = { role: 'assistant', content: null, tool_calls: [call, own] }
  const ownResult = { role: 'tool', tool_call_id: own.id, content: 'rain' }
  const id: unknown = expect.stringMatching(/^[a-z0-9]{9}$/)
  const sent = await sentHistory('any/strict', [hello, both, result, ownResult, hello])
  expect(sent).toEqual([
    hello,
    { ...both, tool_calls: [{ ...call, id }, own] },
    { ...result, tool_call_id: id },
    ownResult,
    { role: 'assistant', content: 'OK.' },
    hello,
  ])
  expect(vendor.last().body.toString()).toContain('12345678901234567890')
  const [, asked, answered] = sent as [unknown, { tool_calls: { id: string }[] }, { tool_call_id: string }]
  expect(answered.tool_call_id).toBe(asked.tool_calls[0]?.id)
})

it('gets a conversation that keeps the strict rules as it is', async () => {
  const messages = [hello, { role: 'assistant', content: 'Hello' }, hello, { role: 'tool' }]
  expect(await sentHistory('any/strict', messages)).toEqual(messages)
})

it.each([
  ['any/few-members', {}],
  ['any/other', { user: 'u1', safety_identifier: 's1', stream_options: { include_usage: true } }],
])('gets from a client only members that it accepts: %s', async (model, expected) => {
  const body = { messages: [hello], user: 'u1', safety_identifier: 's1', stream_options: { include_usage: true } }
  const response = await gateway.post(GATEWAY_PATHS.chat, { model, ...body })
  expect(response.status).toBe(200)
  expect(bodyOf(vendor.last())).toEqual({ model: 'large', messages: [hello], ...expected })
})

const OPENAI = {
  error: {
    message:
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    type: 'invalid_request_error',
    param: 'max_tokens',
    code: 'unsupported_parameter',
  },
}
const MISTRAL = {
  object: 'error',
  message: {
    detail: [
      { type: 'extra_forbidden', loc: ['body', 'max_completion_tokens'], msg: 'Extra inputs are not permitted' },
    ],
  },
}
const XAI = {
  code: 'Client specified an invalid argument',
  error: 'Model x does not support parameter reasoningEffort.',
}
const refuses = (name: string, status: number, error: object, dialect: Dialect = 'chat'): Script => {
  return (call) => (name in bodyOf(call) ? answersJson(error, { status })(call) : saysHello(dialect)(call))
}

describe('the name of the token limit', () => {
  beforeEach(() => vendor.restart(refuses('max_tokens', 400, OPENAI)))

  const post = (model: string, more: object) =>
    gateway.post(GATEWAY_PATHS.chat, { ...greeting('chat', model), ...more })
  const sentLimits = () =>
    vendor.calls.map((call) => Object.entries(bodyOf(call)).filter(([name]) => name.startsWith('max_')))

  it('is changed in a request that is sent again when a model refuses the old one, and in later requests', async () => {
    const response = await post('any/new', { max_tokens: 64, stream: true })
    expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, 'vendor=400,vendor=200'])
    expect(await response.text()).toContain('Hello')
    expect((await post('any/new', { max_tokens: 32 })).headers.get('x-svc-attempts')).toBe(null)
    const renamed = (limit: number) => [['max_completion_tokens', limit]]
    expect(sentLimits()).toEqual([[['max_tokens', 64]], renamed(64), renamed(32)])
  })

  it('is changed in a request that is sent again when a server knows only the old one', async () => {
    vendor.restart(refuses('max_completion_tokens', 422, MISTRAL))
    const response = await post('any/old', { max_completion_tokens: 64 })
    expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, 'vendor=422,vendor=200'])
    expect(sentLimits()).toEqual([[['max_completion_tokens', 64]], [['max_tokens', 64]]])
  })

  it('is changed in a request whose second answer is another error, which the header has too', async () => {
    const busy = answersJson({ error: { message: 'Busy.', type: 'rate_limit_error' } }, { status: 429 })
    vendor.restart((call) => ('max_tokens' in bodyOf(call) ? answersJson(OPENAI, { status: 400 }) : busy)(call))
    const response = await post('any/untold', { max_tokens: 64 })
    expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([429, 'vendor=400,vendor=429'])
  })

  it('is changed in translated requests, too', async () => {
    const body = { ...greeting('messages', 'any/translated'), max_tokens: 64 }
    const response = await gateway.post(GATEWAY_PATHS.messages, body)
    expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, 'vendor=400,vendor=200'])
    expect((await gateway.post(GATEWAY_PATHS.messages, body)).headers.get('x-svc-attempts')).toBe(null)
    const renamed = [['max_completion_tokens', 64]]
    expect(sentLimits()).toEqual([[['max_tokens', 64]], renamed, renamed])
  })

  it.each([
    ['any/new-name', { max_tokens: 64 }, [['max_completion_tokens', 64]]],
    ['any/new-name', { max_completion_tokens: 64 }, [['max_completion_tokens', 64]]],
    ['any/old-name', { max_completion_tokens: 64 }, [['max_tokens', 64]]],
    ['any/old-name', {}, []],
  ])('is that of the directory at once: %s %j', async (model, limits, expected) => {
    vendor.restart(saysHello('chat'))
    expect((await post(model, limits)).status).toBe(200)
    expect(sentLimits()).toEqual([expected])
  })

  it('is that of the server rather than of the directory, where the server refuses the latter', async () => {
    const response = await post('any/old-name', { max_completion_tokens: 64 })
    expect([response.status, sentLimits()]).toEqual([200, [[['max_tokens', 64]], [['max_completion_tokens', 64]]]])
  })

  it('is not changed without end by a server that refuses either name', async () => {
    const refusesNew = refuses('max_completion_tokens', 422, MISTRAL)
    vendor.restart((call) => ('max_tokens' in bodyOf(call) ? answersJson(OPENAI, { status: 400 }) : refusesNew)(call))
    const response = await post('any/either', { max_tokens: 64 })
    expect([response.status, await response.json(), vendor.calls.length]).toEqual([400, OPENAI, 3])
  })

  it('stays where both names were sent, or another thing was refused', async () => {
    expect((await post('any/other', { max_tokens: 64, max_completion_tokens: 32 })).status).toBe(400)
    expect(vendor.calls).toHaveLength(1)

    const other = {
      error: { message: 'max_tokens is too large: 64.', type: 'invalid_request_error', param: 'max_tokens' },
    }
    vendor.restart(answersJson(other, { status: 400 }))
    const response = await post('any/other', { max_tokens: 64 })
    expect([response.status, await response.json()]).toEqual([400, other])
    expect(vendor.calls).toHaveLength(1)
  })
})

it('is asked without each part that it refuses, one after the other, and remembers all of them', async () => {
  const [limit, effort] = [refuses('max_tokens', 400, OPENAI), refuses('reasoning_effort', 400, XAI)]
  vendor.restart((call) => ('max_tokens' in bodyOf(call) ? limit(call) : effort(call)))
  const post = () =>
    gateway.post(GATEWAY_PATHS.chat, { ...greeting('chat', 'any/both'), max_tokens: 64, reasoning_effort: 'high' })
  expect((await post()).headers.get('x-svc-attempts')).toBe('vendor=400,vendor=400,vendor=200')
  expect((await post()).headers.get('x-svc-attempts')).toBe(null)
  expect(bodyOf(vendor.last())).toMatchObject({ max_completion_tokens: 64 })
  expect(bodyOf(vendor.last())).not.toHaveProperty('reasoning_effort')
})

it('gets no reasoning of earlier turns after it has refused it', async () => {
  const message =
    "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property " +
    "'reasoning_content' is unsupported)]"
  vendor.restart((call) =>
    (call.body.includes('reasoning') ? answersJson({ error: { message } }, { status: 400 }) : saysHello('chat'))(call),
  )
  expect(await sentTurn('any/groq', { ...turn, reasoning_content: 'Let me see.' })).toEqual(turn)
  expect(await sentTurn('any/groq', { ...turn, reasoning: 'Let me see.' })).toEqual(turn)
  expect(vendor.calls).toHaveLength(3)
})

it('gets no reasoning, and is asked for none, where the directory says that it refuses it', async () => {
  vendor.restart(saysHello('responses'))
  const item = { type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
  const include = ['reasoning.encrypted_content', 'file_search_call.results']
  const body = { ...greeting('responses', 'responses/no-reasoning'), input: [item, hello], include }
  expect((await gateway.post(GATEWAY_PATHS.responses, body)).status).toBe(200)
  expect(bodyOf(vendor.last())).toMatchObject({ input: [hello], include: ['file_search_call.results'] })
})

describe('a reasoning effort', () => {
  const GPT = {
    error: {
      message: "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
      type: 'invalid_request_error',
      param: 'reasoning.effort',
      code: 'unsupported_parameter',
    },
  }
  const UNREASONING = {
    error: {
      message: 'Encrypted content is not supported with this model.',
      type: 'invalid_request_error',
      param: 'include',
      code: null,
    },
  }
  const OF_CLAUDE = { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } }
  const OF_CODEX = { reasoning: { effort: 'medium', summary: 'auto' }, include: ['reasoning.encrypted_content'] }

  it.each<[string, Dialect, object, string, Dialect, object]>([
    ['any/untold', 'chat', { reasoning_effort: 'high' }, 'reasoning_effort', 'chat', XAI],
    ['responses/untold', 'responses', OF_CODEX, 'reasoning', 'responses', GPT],
    ['responses/untold-claude', 'messages', OF_CLAUDE, 'reasoning', 'responses', GPT],
  ])(
    'is left out where %s refuses to be told, also in later requests',
    async (model, client, asks, member, at, error) => {
      vendor.restart(refuses(member, 400, error, at))
      const post = () => gateway.post(GATEWAY_PATHS[client], { ...greeting(client, model), ...asks })
      const first = await post()
      const backend = at === 'chat' ? 'vendor' : 'vendor-responses'
      expect([first.status, first.headers.get('x-svc-attempts')]).toEqual([200, `${backend}=400,${backend}=200`])
      expect((await post()).headers.get('x-svc-attempts')).toBe(null)
      expect(vendor.calls.map((call) => member in bodyOf(call))).toEqual([true, false, false])
    },
  )

  it.each<[string, Dialect, object]>([
    ['responses/unreasoning-codex', 'responses', OF_CODEX],
    ['responses/unreasoning-claude', 'messages', OF_CLAUDE],
  ])('is left out together with encrypted reasoning where %s cannot reason', async (model, client, asks) => {
    const refusesEffort = refuses('reasoning', 400, GPT, 'responses')
    vendor.restart((call) => {
      const isRefused = !('reasoning' in bodyOf(call)) && call.body.includes('reasoning.encrypted_content')
      return isRefused ? answersJson(UNREASONING, { status: 400 })(call) : refusesEffort(call)
    })
    const post = () => gateway.post(GATEWAY_PATHS[client], { ...greeting(client, model), ...asks })
    const backend = 'vendor-responses'
    expect((await post()).headers.get('x-svc-attempts')).toBe(`${backend}=400,${backend}=400,${backend}=200`)
    const later = await post()
    expect([later.status, later.headers.get('x-svc-attempts')]).toEqual([200, null])
  })

  it.each<[string, Dialect, object, string]>([
    ['any/no-effort', 'chat', { reasoning_effort: 'high' }, 'reasoning_effort'],
    ['responses/no-effort', 'responses', OF_CODEX, 'reasoning'],
    ['responses/no-effort', 'responses', { safety_identifier: 's1' }, 'safety_identifier'],
    ['responses/no-effort', 'messages', OF_CLAUDE, 'reasoning'],
    ['any/no-effort', 'responses', { reasoning: { effort: 'high' } }, 'reasoning_effort'],
  ])('is not sent where the directory says so: %s, a client of %s', async (model, client, asks, member) => {
    vendor.restart(saysHello(model.startsWith('any/') ? 'chat' : 'responses'))
    const response = await gateway.post(GATEWAY_PATHS[client], { ...greeting(client, model), ...asks })
    expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, null])
    expect(bodyOf(vendor.last())).not.toHaveProperty(member)
  })

  it.each([
    [{ detail: [{ type: 'enum', loc: ['body', 'reasoning_effort'], msg: "Input should be 'low' or 'high'" }] }, 422],
    [{ error: { message: `Invalid value: "${GPT.error.message}". Supported values are: 'low' and 'high'.` } }, 400],
  ])('is sent in later requests, where only its value was refused: %j', async (error, status) => {
    vendor.restart(answersJson(error, { status }))
    const post = (effort: string) =>
      gateway.post(GATEWAY_PATHS.chat, { ...greeting('chat', 'any/values'), reasoning_effort: effort })
    const refused = await post(GPT.error.message)
    expect([refused.status, vendor.calls.length]).toEqual([status, 1])
    vendor.restart(saysHello('chat'))
    await post('high')
    expect(bodyOf(vendor.last())).toMatchObject({ reasoning_effort: 'high' })
  })
})

describe('limits in the schemas of tools', () => {
  const GRAMMAR = {
    error: {
      code: 400,
      message: 'Failed to initialize samplers: failed to parse grammar',
      type: 'invalid_request_error',
    },
  }
  const parameters = {
    type: 'object',
    properties: {
      script: { type: 'string', description: 'A script.', maxLength: 524_288 },
      id: { type: 'string', pattern: '^wf_[a-z0-9-]{6,}$' },
      to: { type: 'string', allOf: [{ pattern: '^[^\\n]*$' }, { pattern: '^[\\s\\S]{0,300}$' }] },
      files: { type: 'array', items: { type: 'string', minLength: 1 }, maxItems: 256 },
      env: { type: 'object', properties: {}, additionalProperties: { type: 'string' } },
      options: { type: 'object', properties: {}, additionalProperties: false },
    },
    required: ['script'],
    additionalProperties: false,
  }
  const empty = { type: 'object', properties: {} }
  const TOOLS = {
    chat: [
      { type: 'function', function: { name: 'run', parameters } },
      { type: 'function', function: { name: 'list', parameters: empty } },
    ],
    responses: [
      { type: 'function', name: 'run', parameters },
      {
        type: 'namespace',
        name: 'all',
        description: '',
        tools: [{ type: 'function', name: 'list', parameters: empty }],
      },
    ],
    messages: [
      { name: 'run', input_schema: parameters },
      { name: 'list', input_schema: empty },
    ],
  }
  const isRefused = (body: string) =>
    /"(?:maxLength|pattern|maxItems)":/.test(body) || body.includes('"properties":{}}')

  it.each([
    ['any/grammar', 'chat'],
    ['any/grammar-claude', 'messages'],
  ] as const)('become descriptions where a server cannot make a grammar of them: %s', async (model, client) => {
    vendor.restart((call) =>
      (isRefused(call.body.toString()) ? answersJson(GRAMMAR, { status: 400 }) : saysHello('chat'))(call),
    )
    const body = { ...greeting(client, model), tools: TOOLS[client] }
    const post = () => gateway.post(GATEWAY_PATHS[client], body)
    const first = await post()
    expect([first.status, first.headers.get('x-svc-attempts')]).toEqual([200, 'vendor=400,vendor=200'])
    expect((await post()).headers.get('x-svc-attempts')).toBe(null)
    expect(bodyOf(vendor.last())).toMatchObject({
      tools: [
        {
          function: {
            parameters: {
              type: 'object',
              properties: {
                script: { type: 'string', description: 'A script.\nIt must match: {"maxLength":524288}' },
                id: { type: 'string', description: 'It must match: {"pattern":"^wf_[a-z0-9-]{6,}$"}' },
                to: { type: 'string', description: expect.stringContaining('{0,300}') as unknown },
                files: { type: 'array', items: { type: 'string' }, description: 'It must match: {"maxItems":256}' },
                env: { type: 'object', additionalProperties: { type: 'string' } },
                options: { type: 'object' },
              },
              required: ['script'],
            },
          },
        },
        { function: { name: 'list', parameters: { type: 'object' } } },
      ],
    })
  })

  it.each([
    ['responses/grammar-responses', 'responses', 'responses'],
    ['responses/grammar-messages', 'responses', 'messages'],
    ['messages/grammar-messages', 'messages', 'messages'],
    ['messages/grammar-responses', 'messages', 'responses'],
  ] as const)('become descriptions in each dialect: %s', async (model, backend, client) => {
    vendor.restart((call) =>
      (isRefused(call.body.toString()) ? answersJson(GRAMMAR, { status: 400 }) : saysHello(backend))(call),
    )
    const body = { ...greeting(client, model), tools: TOOLS[client] }
    const attempts = async () => {
      const response = await gateway.post(GATEWAY_PATHS[client], body)
      return [response.status, response.headers.get('x-svc-attempts')]
    }
    const name = `vendor-${backend}`
    expect([await attempts(), await attempts()]).toEqual([
      [200, `${name}=400,${name}=200`],
      [200, null],
    ])
  })
})

it('is told the JSON schema of its answer where it keeps to none', async () => {
  const refused = { error: { message: 'This response_format type is unavailable now', type: 'invalid_request_error' } }
  vendor.restart((call) =>
    (call.body.includes('json_schema') ? answersJson(refused, { status: 400 }) : saysHello('chat'))(call),
  )
  const schema = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] }
  const format = { type: 'json_schema', name: 'title', schema }
  const post = () => gateway.post(GATEWAY_PATHS.responses, { ...greeting('responses', 'any/json'), text: { format } })
  expect((await post()).headers.get('x-svc-attempts')).toBe('vendor=400,vendor=200')
  expect((await post()).headers.get('x-svc-attempts')).toBe(null)
  const { messages, response_format } = bodyOf(vendor.last())
  expect(response_format).toEqual({ type: 'json_object' })
  expect(messages).toMatchObject([
    { role: 'system', content: expect.stringContaining(JSON.stringify(schema)) as unknown },
    {},
  ])
})
