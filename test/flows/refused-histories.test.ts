/** Backends that refuse a conversation which others accept get it again in the form that they accept. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { bodyOf, GATEWAY_PATHS, greeting, saysHello } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const NAMES: Readonly<Record<Dialect, readonly string[]>> = {
  chat: [
    ...['mistral', 'mistral-claude', 'gemini', 'gemini-claude', 'deepseek', 'deepseek-claude', 'cerebras', 'groq'],
    ...['xai', 'cloudflare'],
  ],
  responses: ['openai', 'openai-claude'],
  messages: ['thinking', 'thinking-chat'],
}

let vendor: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  vendor = await startUpstream()
  const backend = { url: vendor.url.href, basePath: '/v1', credential: null }
  gateway = await startGateway({
    backends: [
      { name: 'chat', dialects: ['chat'], ...backend },
      { name: 'responses', dialects: ['responses'], ...backend },
      { name: 'messages', dialects: ['messages'], ...backend },
    ],
    team: {
      models: [
        ...Object.entries(NAMES).flatMap(([at, names]) =>
          names.map((name) => servedModel(`any/${name}`, { serve: [serveEntry(at, name)] })),
        ),
        servedModel('any/strict', { caps: { strictContent: true }, serve: [serveEntry('chat', 'strict')] }),
      ],
    },
  })
})
afterAll(async () => {
  for (const one of [gateway, vendor]) await one[Symbol.asyncDispose]()
})

/** Makes two calls of a model at a backend that answers with this error, unless its request matches. */
async function callTwice(model: string, client: Dialect, more: object, error: unknown, isAccepted: RegExp) {
  const at = DIALECT_NAMES.find((dialect) => NAMES[dialect].includes(model)) ?? 'chat'
  vendor.restart((call) => {
    const accepts = isAccepted.test(call.body.toString())
    return (accepts ? saysHello(at) : answersJson(error, { status: 400 }))(call)
  })
  const post = () => gateway.post(GATEWAY_PATHS[client], { ...greeting(client, `any/${model}`), ...more })
  const [first, second] = [await post(), await post()]
  const attempts = [first, second].map(({ headers }) => headers.get('x-svc-attempts'))
  expect([first.status, second.status, attempts]).toEqual([200, 200, [`${at}=400,${at}=200`, null]])
  return bodyOf(vendor.last())
}

const hello = { role: 'user', content: 'Hi' }
const toCall = (id: string) => ({ id, type: 'function', function: { name: 'read', arguments: '{}' } })
const OF_CHAT = {
  messages: [
    hello,
    { role: 'assistant', content: null, reasoning_content: 'Hm.', tool_calls: [toCall('a'), toCall('b')] },
    { role: 'tool', tool_call_id: 'a', content: '1' },
    { role: 'tool', tool_call_id: 'b', content: '2' },
    { role: 'assistant', content: null, tool_calls: [toCall('c')] },
    { role: 'tool', tool_call_id: 'c', content: '3' },
  ],
}
const OF_CLAUDE = {
  messages: [
    hello,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'read', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: '1' }] },
  ],
}

const GEMINI = 'Function call is missing a thought_signature in functionCall parts. This is required for tools.'
const toGeminiError = (message: string) => [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }]
const extra_content = { google: { thought_signature: 'skip_thought_signature_validator' } }

it('get a word in place of the signatures that Gemini requires, and keep its own', async () => {
  const own = { google: { thought_signature: 'EjQK' } }
  const [first, asked, ...rest] = OF_CHAT.messages
  const messages = [
    first,
    asked,
    ...rest.slice(0, 2),
    { ...rest[2], tool_calls: [{ ...toCall('c'), extra_content: own }] },
  ]
  const sent = await callTwice('gemini', 'chat', { messages }, toGeminiError(GEMINI), /skip_thought/)
  expect(sent.messages).toMatchObject([
    hello,
    { tool_calls: [{ ...toCall('a'), extra_content }, toCall('b')] },
    {},
    {},
    { tool_calls: [{ ...toCall('c'), extra_content: own }] },
  ])
})

it('get a word in place of the signatures of translated calls, too', async () => {
  const refused = 'Unable to submit request because function call `read` in the 2. content block is missing a'
  const error = toGeminiError(`${refused} \`thought_signature\`. Learn more: https://docs.cloud.google.com/`)
  const sent = await callTwice('gemini-claude', 'messages', OF_CLAUDE, error, /skip_thought/)
  expect(sent.messages).toMatchObject([hello, { tool_calls: [{ id: 'a', extra_content }] }, {}])
})

it.each([
  ['deepseek', 'chat', OF_CHAT, 'The `reasoning_content` in the thinking mode must be passed back to the API.'],
  [
    'deepseek-claude',
    'messages',
    OF_CLAUDE,
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
  ],
] as const)('get a reasoning of one space where a model requires it: %s', async (model, client, body, message) => {
  const sent = await callTwice(model, client, body, { error: { message } }, /"reasoning_content":" "/)
  expect((sent.messages as object[]).at(-2)).toMatchObject({ reasoning_content: ' ' })
})

it.each([
  [
    'cerebras',
    {
      message:
        "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported",
      type: 'invalid_request_error',
      param: 'validation_error',
      code: 'wrong_api_format',
    },
  ],
  [
    'groq',
    {
      error: {
        message:
          "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
      },
    },
  ],
])('have no reasoning where a model refuses it: %s', async (model, error) => {
  const sent = await callTwice(model, 'chat', OF_CHAT, error, /^(?!.*reasoning_content)/s)
  expect(sent.messages).toEqual(
    JSON.parse(
      JSON.stringify(OF_CHAT.messages, (key, one: unknown) => {
        return key === 'reasoning_content' ? undefined : one
      }),
    ),
  )
})

it.each([
  ['xai', 'chat', OF_CHAT, 'Invalid request content: Each message must have at least one content element.'],
  [
    'cloudflare',
    'messages',
    OF_CLAUDE,
    "AiError: Bad input: Error: oneOf at '/' not met, 0 matches: required properties at '/messages/1' are 'role,content'",
  ],
] as const)(
  'have a text as the content of each message where a model requires it: %s',
  async (model, client, body, message) => {
    const sent = await callTwice(model, client, body, { error: { message } }, /^(?!.*"content":null)/s)
    expect((sent.messages as object[])[1]).toMatchObject({ role: 'assistant', content: '' })
  },
)

it('have one text in place of several where a model requires it', async () => {
  const parts = ['One.', 'Two.'].map((text) => ({ type: 'text', text }))
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } }
  const seen = { role: 'user', content: [...parts, image] }
  vendor.restart(saysHello('chat'))
  const body = { ...greeting('chat', 'any/strict'), messages: [{ role: 'system', content: parts }, seen] }
  expect((await gateway.post(GATEWAY_PATHS.chat, body)).status).toBe(200)
  expect(bodyOf(vendor.last()).messages).toEqual([{ role: 'system', content: 'One.\n\nTwo.' }, seen])
})

it.each([
  ['openai', 'responses', { reasoning: { effort: 'high', summary: 'auto' } }],
  ['openai-claude', 'messages', { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
] as const)(
  'ask for no summaries of reasoning where a vendor refuses to write them: %s',
  async (model, client, more) => {
    const message = 'Your organization must be verified to generate reasoning summaries. Please go to: https://x.test/'
    const error = {
      error: { message, type: 'invalid_request_error', param: 'reasoning.summary', code: 'unsupported_value' },
    }
    const sent = await callTwice(model, client, more, error, /^(?!.*"summary")/s)
    expect(sent.reasoning).toEqual({ effort: 'high' })
  },
)

it.each([
  ['thinking', 'messages', OF_CLAUDE],
  ['thinking-chat', 'chat', { messages: [hello, ...OF_CHAT.messages.slice(-2)] }],
] as const)('get thinking before the calls where a model requires it: %s', async (model, client, body) => {
  const message = 'The `content[].thinking` in the thinking mode must be passed back to the API.'
  const error = { error: { message, type: 'invalid_request_error' } }
  const sent = await callTwice(model, client, body, error, /"type":"thinking"/)
  expect((sent.messages as object[])[1]).toMatchObject({
    content: [{ type: 'thinking', thinking: ' ', signature: '' }, { type: 'tool_use' }],
  })
})

it.each([
  ['mistral', 'chat', { messages: [...OF_CHAT.messages.slice(0, 4), hello] }],
  [
    'mistral-claude',
    'messages',
    { messages: [...OF_CLAUDE.messages, hello], metadata: { user_id: 'u1' }, system: 'Be brief.' },
  ],
] as const)('lose what Mistral refuses, one part after the other: %s', async (model, client, more) => {
  const mistakeOf = (name: string) => ({
    object: 'error',
    message: { detail: [{ type: 'extra_forbidden', loc: ['body', name], msg: 'Extra inputs are not permitted' }] },
  })
  const toError = (body: ReturnType<typeof bodyOf>): object | null => {
    if (body.user !== undefined) return mistakeOf('user')
    if (body.stream_options !== undefined) return mistakeOf('stream_options')
    const ids = JSON.stringify(body.messages).match(/(?<="tool_call_id":")[^"]*/g) ?? []
    const wrong = ids.find((id) => !/^[a-zA-Z0-9]{9}$/.test(id))
    if (wrong === undefined) return null
    return { object: 'error', message: `Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.` }
  }
  vendor.restart((call) => {
    const error = toError(bodyOf(call))
    return (error ? answersJson(error, { status: 422 }) : saysHello('chat'))(call)
  })
  const body = { ...greeting(client, `any/${model}`), ...more, ...(client === 'chat' && { user: 'u1' }), stream: true }
  const post = async () => {
    const response = await gateway.post(GATEWAY_PATHS[client], body)
    await response.text()
    return response
  }
  const [first, second] = [await post(), await post()]
  const attempts = [first, second].map(({ headers }) => headers.get('x-svc-attempts'))
  expect([first.status, second.status, attempts]).toEqual([200, 200, ['chat=422,chat=422,chat=422,chat=200', null]])
})
