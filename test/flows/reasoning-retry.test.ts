import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { saysHello } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream, streams } from '../support/upstream.ts'
import type { Script, TestUpstream } from '../support/upstream.ts'

const REFUSAL = {
  error: {
    message: 'The encrypted content gAAA... could not be verified.',
    type: 'invalid_request_error',
    param: null,
    code: 'invalid_encrypted_content',
  },
}
const REASONING = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
const ASK = { type: 'message', role: 'user', content: 'And now?' }
const CALLS = [
  { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"line":12345678901234567890}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'text' },
]
const INPUT = [{ type: 'message', role: 'user', content: 'Hello' }, REASONING, ...CALLS, ASK]

let server: TestUpstream
let gateway: TestGateway

const backendOf = (name: string, env: string) => ({
  name,
  dialects: ['responses'] as const,
  url: server.url.href,
  basePath: '/v1',
  credential: { env, file: null, as: 'bearer' as const },
})

beforeAll(async () => {
  server = await startUpstream()
  const names = ['first', 'second']
  const modelOf = (id: string, backends: readonly string[]) =>
    servedModel(id, { serve: backends.map((name, rank) => serveEntry(name, 'large', { rank })) })
  gateway = await startGateway({
    vendorc: server.url,
    backends: names.map((name) => backendOf(name, 'TOKEN')),
    team: { models: [servedModel('vendorc/coder'), modelOf('any/one', ['first']), modelOf('any/two', names)] },
  })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => {
  gateway.events.length = 0
  server.restart(refusesReasoning)
})

const inputOf = (body: Buffer): readonly { readonly type: string }[] =>
  (JSON.parse(body.toString()) as { input: { type: string }[] }).input
const hello = saysHello('responses')

/** Like a vendor after a change of account. */
const refusesReasoning: Script = (call) => {
  const isRefused = inputOf(call.body).some(({ type }) => type === 'reasoning')
  return isRefused ? answersJson(REFUSAL, { status: 400 })(call) : hello(call)
}

const post = (body: object, init: Parameters<TestGateway['post']>[2] = {}) =>
  gateway.post('/codex/v1/responses', { model: 'vendorc/coder', store: false, ...body }, init)

describe('a responses backend that cannot read the reasoning of a request', () => {
  it.each([false, true])(
    'gets the request once more without it, and the caller an answer; stream: %s',
    async (stream) => {
      const sent = JSON.stringify({ model: 'vendorc/coder', store: false, stream, input: INPUT })
      const response = await gateway.post('/codex/v1/responses', sent)
      expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, 'vendorc=400,vendorc=200'])
      expect(await response.text()).toContain('Hello')
      const [first, second] = server.calls.map(({ body }) => body)
      expect(first?.toString()).toBe(sent)
      expect(inputOf(second ?? Buffer.of())).toEqual(INPUT.filter((item) => item !== REASONING))
      expect(second?.toString()).toContain('{\\"line\\":12345678901234567890}')
    },
  )

  it('is reported as one call of its session, with both of its attempts', async () => {
    await (await post({ input: INPUT }, { headers: { 'x-svc-session-id': 'run-1' } })).text()
    await expect.poll(() => gateway.events.map(({ kind }) => kind)).toEqual(['started', 'finished'])
    const attempts = ['400', '200'].map((result) => ({ backend: 'vendorc', result }))
    expect(gateway.events[1]?.result?.attempts).toEqual(attempts)
  })

  it('may say so in the first event of a stream', async () => {
    const { error } = REFUSAL
    const failed = { type: 'response.failed', response: { status: 'failed', error } }
    const refusal = streams([`event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`])
    server.restart((call) => (server.calls.length === 1 ? refusal(call) : hello(call)))
    const response = await post({ input: INPUT, stream: true })
    expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, 'vendorc=400,vendorc=200'])
  })

  it('is asked again before the next backend of the plan', async () => {
    const response = await post({ model: 'any/two', input: INPUT })
    expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, 'first=400,first=200'])
  })

  it('gets it again with the credential that it has by then', async () => {
    server.restart((call) => {
      if (server.calls.length === 1) gateway.applyBackends(['first', 'second'].map((name) => backendOf(name, 'NEW')))
      return refusesReasoning(call)
    })
    const response = await post({ model: 'any/one', input: INPUT })
    expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, 'first=400,first=200'])
    expect(server.calls.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer secret-of-TOKEN',
      'Bearer secret-of-NEW',
    ])
  })

  it('gets a translated request once more, too', async () => {
    const ask = { model: 'any/one', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }
    server.restart(
      answersJson({
        ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'large' },
        output: [{ ...REASONING, summary: [{ type: 'summary_text', text: 'Hm' }] }, ...CALLS.slice(0, 1)],
        usage: { input_tokens: 3, output_tokens: 1, total_tokens: 4 },
      }),
    )
    const { content } = (await (await gateway.post('/vendorb/v1/messages', ask)).json()) as { content: object[] }
    const result = { type: 'tool_result', tool_use_id: 'call_1', content: 'text' }
    const messages = [...ask.messages, { role: 'assistant', content }, { role: 'user', content: [result] }]
    server.restart(refusesReasoning)
    const response = await gateway.post('/vendorb/v1/messages', { ...ask, messages })
    expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, 'first=400,first=200'])
    expect(inputOf(server.calls[0]?.body ?? Buffer.of())).toContainEqual(expect.objectContaining({ type: 'reasoning' }))
  })
})

describe('the request is not sent again', () => {
  it('when the backend refuses it also without reasoning, which the caller is told unchanged', async () => {
    server.restart(answersJson(REFUSAL, { status: 400 }))
    const response = await post({ input: INPUT })
    expect([response.status, await response.json(), server.calls.length]).toEqual([400, REFUSAL, 2])
  })

  it('when it has no reasoning to leave out', async () => {
    server.restart(answersJson(REFUSAL, { status: 400 }))
    const response = await post({ input: [{ type: 'compaction', encrypted_content: 'gAAA' }, ASK] })
    expect([response.status, await response.json(), server.calls.length]).toEqual([400, REFUSAL, 1])
  })

  it('when it has none and is translated, so that the failure becomes the answer', async () => {
    const { error } = REFUSAL
    const failed = { type: 'response.failed', response: { status: 'failed', error } }
    server.restart(streams([`event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`]))
    const ask = { model: 'any/one', stream: true, messages: [{ role: 'user', content: 'Hello' }] }
    const response = await gateway.post('/v1/chat/completions', ask)
    expect([response.status, server.calls.length, gateway.events.length]).toEqual([400, 1, 1])
    expect(await response.text()).toContain(error.message)
  })

  it.each([
    ['another error', answersJson({ error: { message: 'No.', code: 'rate_limit_exceeded' } }, { status: 429 })],
    ['an error in a stream', streams(['event: error\ndata: {"type":"error","message":"overloaded"}\n\n'])],
  ])('when the backend answers with %s, whose bytes pass unchanged', async (_, script) => {
    server.restart(script)
    const response = await post({ input: INPUT, stream: true })
    expect(await response.text()).toMatch(/^\{"error":\{"message":"No\."|^event: error\ndata: \{"type":"error"/)
    expect([server.calls.length, response.headers.get('x-svc-attempts')]).toEqual([1, null])
  })
})
