/** What OpenRouter's chat completions ask for: the `reasoning_details` of a message come back with it unchanged. */
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readList, readObject, readText } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { makeSseDecoder } from '../../src/gateway/dialects/sse/decode.ts'
import { bodyOf } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream, streams } from '../support/upstream.ts'
import type { SeenCall, TestUpstream } from '../support/upstream.ts'
import { pair } from '../translate/pairs.ts'
import { chunks, delta, finalResponse, foldMessage, run } from '../translate/streams.ts'

const callOf = (id: string): Json => ({ id, type: 'function', function: { name: 'read', arguments: '{"n":1}' } })
const text = (more: Json): Json => ({ type: 'reasoning.text', ...more, format: 'anthropic-claude-v1', index: 0 })
const summary = (said: string): Json => ({
  type: 'reasoning.summary',
  summary: said,
  format: 'openai-responses-v1',
  index: 0,
})
const encrypted = (data: string, more: Json = {}): Json => ({
  type: 'reasoning.encrypted',
  data,
  format: 'google-gemini-v1',
  index: 0,
  ...more,
})

const LONG_ID = `tool_mcp__github__create_pull_request_${'k'.repeat(40)}`

/** The deltas of a stream, and the details and calls that have to come back. */
type Turn = {
  readonly vendor: string
  readonly deltas: readonly Json[]
  readonly details: readonly Json[]
  readonly calls: readonly Json[]
}

const SIGNED: Turn = {
  vendor: 'Anthropic, whose signature comes in a fragment of its own',
  deltas: [
    { reasoning: 'Let', reasoning_details: [text({ text: 'Let' })] },
    { reasoning: ' me see', reasoning_details: [text({ text: ' me see' })] },
    { reasoning_details: [text({ signature: 'EtMB' })] },
    { content: 'I read it.' },
  ],
  details: [text({ text: 'Let me see', signature: 'EtMB' })],
  calls: [callOf('c1'), callOf('c2')],
}

/** As the vendors behind OpenRouter send them. */
const TURNS: readonly Turn[] = [
  SIGNED,
  {
    vendor: 'Anthropic, with a signature behind the beginning of the text',
    deltas: [
      { reasoning: 'Hm', reasoning_details: [text({ text: 'Hm', signature: null })] },
      { content: 'I read it.' },
      { reasoning_details: [text({ text: null, signature: 'EtMB' })] },
    ],
    details: [text({ text: 'Hm', signature: 'EtMB' })],
    calls: [callOf('c1')],
  },
  {
    vendor: 'Anthropic, thinking twice',
    deltas: [
      { reasoning: 'one', reasoning_details: [text({ text: 'one' })] },
      { reasoning_details: [text({ signature: 'S1' })] },
      { reasoning: 'two', reasoning_details: [text({ text: 'two' })] },
      { reasoning_details: [text({ signature: 'S2' })] },
    ],
    details: [text({ text: 'one', signature: 'S1' }), text({ text: 'two', signature: 'S2' })],
    calls: [callOf('c1')],
  },
  {
    vendor: 'OpenAI, whose summary comes in fragments and whose reasoning is encrypted',
    deltas: [
      { reasoning: '**Look', reasoning_details: [summary('**Look')] },
      { reasoning: 'ing**', reasoning_details: [summary('ing**')] },
      { reasoning: null, reasoning_details: [encrypted('gAAA', { id: 'rs_1' })] },
    ],
    details: [summary('**Looking**'), encrypted('gAAA', { id: 'rs_1' })],
    calls: [callOf('c1'), callOf('c2')],
  },
  {
    vendor: 'one that numbers nothing',
    deltas: ['one', 'two'].map((said) => ({
      reasoning: said,
      reasoning_details: [{ type: 'reasoning.text', text: said }],
    })),
    details: ['one', 'two'].map((said) => ({ type: 'reasoning.text', text: said })),
    calls: [callOf('c1')],
  },
  {
    vendor: 'Gemini, whose details name their calls',
    deltas: [{ content: '', reasoning: null, reasoning_details: [encrypted('EjQK', { id: LONG_ID })] }],
    details: [encrypted('EjQK', { id: LONG_ID })],
    calls: [callOf(LONG_ID), callOf('c2')],
  },
]

/** The turn that the backend answers with. */
let turn: Turn
let server: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  server = await startUpstream(answersOnce)
  const credential = { env: 'TOKEN', file: null, as: 'bearer' } as const
  const backend = { dialects: ['chat'] as const, url: server.url.href, basePath: '/v1', credential }
  const modelOf = (id: string, name: string, model: string) => servedModel(id, { serve: [serveEntry(name, model)] })
  gateway = await startGateway({
    backends: [
      { ...backend, name: 'first' },
      { ...backend, name: 'second' },
    ],
    team: {
      models: [
        modelOf('any/one', 'first', 'm1'),
        modelOf('any/two', 'first', 'm2'),
        modelOf('any/else', 'second', 'm1'),
      ],
    },
  })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => {
  server.restart(answersOnce)
})

/** Like the vendors behind OpenRouter: 400 for a turn without its details, or with other ones. */
function answersOnce(call: SeenCall): void | Promise<void> {
  const body = bodyOf(call)
  const assistant = readList(body.messages)
    .map(readObject)
    .find(({ role }) => role === 'assistant')
  const { deltas, details, calls } = turn
  if (assistant) {
    const isUnchanged = isDeepStrictEqual(assistant.reasoning_details, details)
    const isCalled = isDeepStrictEqual(assistant.tool_calls, calls)
    if (isUnchanged && isCalled) return answersJson(completion({ content: 'Done.' }, 'stop'))(call)
    return answersJson({ error: { message: 'Corrupted thought signature.', code: 400 } }, { status: 400 })(call)
  }
  if (body.stream !== true) {
    const joined = (member: string) => deltas.map((one) => readText(one[member])).join('') || null
    const message = { content: joined('content'), reasoning: joined('reasoning'), reasoning_details: details }
    return answersJson(completion({ ...message, tool_calls: calls }, 'tool_calls'))(call)
  }
  const events = chunks(
    ...deltas.map((one) => delta(one)),
    ...calls.map((one, index) => delta({ tool_calls: [{ index, ...one }] })),
    delta({}, 'tool_calls'),
    '[DONE]',
  )
  return streams(events.map(({ data }) => `data: ${data}\n\n`))(call)
}

function completion(message: Json, finish_reason: string): Json {
  return { id: 'gen-1', choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }] }
}

async function readAnswer(response: Response, fold: (events: ReturnType<typeof decode>) => Json): Promise<Json> {
  const body = await response.text()
  expect([response.status, body]).toEqual([200, body])
  return response.headers.get('content-type')?.includes('event-stream')
    ? fold(decode(body))
    : readObject(JSON.parse(body))
}

const decode = (body: string) => makeSseDecoder().push(Buffer.from(body))

const USER = { role: 'user', content: 'Read it.' }
type Client = (model: string, stream: boolean, next?: string) => Promise<Response>

/** Like Claude Code, which moves its calls to the end of a turn. */
const asMessages: Client = async (model, stream, next = model) => {
  const ask = (to: string, messages: Json[], streamed: boolean) =>
    gateway.post('/vendorb/v1/messages', { model: to, max_tokens: 100, messages, stream: streamed })
  const { content } = await readAnswer(await ask(model, [USER], stream), foldMessage)
  const blocks = readList(content).map(readObject)
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'x' }))
  const said = [...blocks.filter(({ type }) => type !== 'tool_use'), ...calls]
  return ask(next, [USER, { role: 'assistant', content: said }, { role: 'user', content: results }], false)
}

const asResponses: Client = async (model, stream, next = model) => {
  const include = ['reasoning.encrypted_content']
  const ask = (to: string, input: Json[], streamed: boolean) =>
    gateway.post('/v1/responses', { model: to, input, include, store: false, stream: streamed })
  const { output } = await readAnswer(await ask(model, [USER], stream), finalResponse)
  const items = readList(output).map(readObject)
  const calls = items.filter(({ type }) => type === 'function_call')
  const results = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'x' }))
  return ask(next, [USER, ...items, ...results], false)
}

const CLIENTS: readonly (readonly [string, Client])[] = [
  ['messages', asMessages],
  ['responses', asResponses],
]

describe.each(CLIENTS)('the reasoning details of a chat backend, through a %s client', (_, client) => {
  it.each(TURNS.flatMap((one) => [false, true].map((stream) => ({ ...one, stream }))))(
    'come back as they were: $vendor; stream: $stream',
    async ({ stream, ...given }) => {
      turn = given
      const response = await client('any/one', stream)
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Done.')])
    },
  )

  it.each(['any/two', 'any/else'])('go to no other model and to no other backend: %s', async (next) => {
    turn = SIGNED
    await client('any/one', true, next)
    const sent = server.last().body.toString()
    expect(sent).toContain('"c1"')
    expect(sent).not.toContain('reasoning_details')
    expect(sent).not.toContain('EtMB')
  })

  it('stay away where reasoning was cut before its signature, which Anthropic would refuse', async () => {
    const deltas = [{ reasoning: 'Hm', reasoning_details: [text({ text: 'Hm' })] }, { content: 'I read it.' }]
    turn = { vendor: 'Anthropic', deltas, details: [text({ text: 'Hm' })], calls: [callOf('c1')] }
    await client('any/one', true)
    expect(server.last().body.toString()).not.toContain('reasoning_details')
  })

  it('are never sent to a backend that has not sent any', async () => {
    turn = { vendor: 'none', deltas: [{ reasoning_content: 'Hm' }], details: [], calls: [callOf('c1')] }
    await client('any/one', true)
    expect(server.last().body.toString()).not.toContain('reasoning')
  })
})

it('reasoning details behind the text leave no block at the end, because Claude Code would print nothing', () => {
  const events = chunks(
    delta({ content: 'Done.' }),
    delta({ content: '', reasoning: null, reasoning_details: [encrypted('EjQK')] }),
    delta({}, 'stop'),
    '[DONE]',
  )
  const { answer } = pair('messages', 'chat')
  expect(foldMessage(run(answer.stream(), ...events)).content).toMatchObject([{ type: 'text', text: 'Done.' }])
})
