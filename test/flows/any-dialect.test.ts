import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DirectoryBackend } from '../../src/directory/backends.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { ENDED_EARLY } from '../../src/gateway/dialects/failures/failure.ts'
import { FREE_USAGE } from '../../src/gateway/dialects/tokens/usage.ts'
import { UNASKED } from '../../src/gateway/exchange/stream-opening.ts'
import { makeSseDecoder } from '../../src/gateway/dialects/sse/decode.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import {
  beginsHello,
  GATEWAY_PATHS,
  SERVER_PATHS,
  bodyOf,
  greeting,
  saysHello,
  startServer,
  streamsHello,
} from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { readEvents } from '../support/read-events.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { CHECKS } from '../support/stream-grammar.ts'
import { answersJson, neverAnswers, streams } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const PAIRS = DIALECT_NAMES.flatMap((client) =>
  DIALECT_NAMES.filter((backend) => backend !== client).map((to) => [client, to] as const),
)

let servers: Record<Dialect, TestUpstream>
let gateway: TestGateway

function listed(dialect: Dialect): DirectoryBackend {
  const as = dialect === 'messages' ? 'x-api-key' : 'bearer'
  return {
    name: `${dialect}-server`,
    dialects: [dialect],
    url: servers[dialect].url.href,
    basePath: '/v1',
    credential: { env: 'TOKEN', file: null, as },
  }
}

function served(id: string, ...dialects: Dialect[]) {
  const serve = dialects.map((dialect, rank) => serveEntry(`${dialect}-server`, 'large-2026', { rank }))
  return servedModel(id, { serve })
}

beforeAll(async () => {
  const [chat, responses, messages] = await Promise.all([
    startServer('chat'),
    startServer('responses'),
    startServer('messages'),
  ])
  servers = { chat, responses, messages }
  gateway = await startGateway({
    vendora: chat.url,
    backends: [
      ...DIALECT_NAMES.map(listed),
      { ...listed('chat'), name: 'chat-v4', basePath: '/paas/v4' },
      { ...listed('messages'), name: 'counter' },
    ],
    team: {
      models: [
        ...DIALECT_NAMES.map((dialect) => served(`any/${dialect}`, dialect)),
        served('any/refused', 'messages', 'chat'),
        servedModel('any/small', { serve: [serveEntry('responses-server', 'small-2026')] }),
        servedModel('any/v4', { serve: [serveEntry('chat-v4', 'large-2026')] }),
        servedModel('any/counter', { serve: [serveEntry('counter', 'large-2026')] }),
        servedModel('any/vendora', { serve: [serveEntry('vendora', 'large-2026')] }),
      ],
    },
  })
})

afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await Promise.all(Object.values(servers).map((server) => server[Symbol.asyncDispose]()))
})

const call = (client: Dialect, model: string, stream = false, headers = {}) =>
  gateway.post(GATEWAY_PATHS[client], greeting(client, model, stream), { headers })

/** The text of an answer that may break off. */
async function readToEnd({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const chunks: Uint8Array[] = []
  try {
    for (let read = await reader?.read(); read?.value; read = await reader?.read()) chunks.push(read.value)
  } catch {
    // In the chat dialect only a broken connection cannot look like success.
  }
  return Buffer.concat(chunks).toString()
}

/** An answer without its ids and times, which differ from call to call. */
const withoutIds = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer, (name, value: unknown) => (/^(id|created|.*_at)$/.test(name) ? null : value)))

describe.each(PAIRS)('a %s client on a %s backend', (client, backend) => {
  it('gets a whole answer', async () => {
    const response = await call(client, `any/${backend}`)
    const body = await response.text()
    expect([response.status, body]).toEqual([200, expect.stringContaining('Hello')])
    expect(JSON.parse(body)).toMatchObject({ model: `any/${backend}` })
    expect(response.headers.get('x-svc-served-by')).toBe(`${backend}-server`)
    const seen = servers[backend].last()
    expect(seen.url).toBe(SERVER_PATHS[backend])
    expect(bodyOf(seen)).toMatchObject({ model: 'large-2026' })
  })

  it('gets a stream that its dialect allows', async () => {
    const response = await call(client, `any/${backend}`, true)
    const body = await response.text()
    expect([response.status, body]).toEqual([200, expect.stringContaining('Hello')])
    const decode = makeSseDecoder()
    expect(CHECKS[client](decode.push(Buffer.from(body)))).toEqual([])
  })

  it.each([
    ['ends its stream', 'well'],
    ['keeps its stream open', 'stalls'],
    ['resets its connection', 'resets'],
  ] as const)('gets the same whole answer from a backend that always streams, and %s', async (_name, end) => {
    const wanted = (await call(client, `any/${backend}`).then((response) => response.json())) as object
    servers[backend].script = streamsHello(backend, end)
    const response = await call(client, `any/${backend}`)
    servers[backend].script = saysHello(backend)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(withoutIds(await response.json())).toEqual(withoutIds(wanted))
    expect(gateway.events.at(-1)).toMatchObject({ result: { usage: { inputTokens: 3, outputTokens: 1 } } })
  })

  it('gets an error where a backend streams although it was not asked to, and its stream breaks off', async () => {
    servers[backend].script = ({ res }) =>
      void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(': wait\n\n')
    const response = await call(client, `any/${backend}`)
    servers[backend].script = saysHello(backend)
    expect([response.status, await response.json()]).toMatchObject([502, { error: { message: ENDED_EARLY.message } }])
  })

  it('is told in a stream that its access has ended', async () => {
    servers[backend].script = beginsHello(backend)
    const response = await call(client, `any/${backend}`, true)
    servers[backend].script = saysHello(backend)
    gateway.endSession()
    const text = await readToEnd(response)
    expect(text).toMatch(/was ended while the answer .*Sign in again/)
    expect(text).toMatch(client === 'messages' ? /"type":"authentication_error"/ : /"code":"unauthorized"/)
  })

  it('sees an overload of the backend in its own dialect', async () => {
    servers[backend].script = answersJson({ error: { type: 'overloaded_error', message: 'Busy.' } }, { status: 529 })
    const response = await call(client, `any/${backend}`)
    servers[backend].script = saysHello(backend)
    expect(response.status).toBe(client === 'messages' ? 529 : 503)
    expect(await response.json()).toMatchObject({ error: { message: 'Busy.' } })
  })
})

it.each(['chat', 'messages'] as const)(
  'bifrost#1171, bifrost#4785: a backend whose API is not below /v1 is called by a %s client at its base path',
  async (client) => {
    expect((await call(client, 'any/v4')).status).toBe(200)
    expect(servers.chat.last().url).toBe('/paas/v4/chat/completions')
  },
)

it('a backend that always streams may keep its stream open and send no last event', async () => {
  const choices = [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }]
  servers.chat.script = streams([`data: ${JSON.stringify({ choices })}\n\n`, ': wait\n\n'], { end: 'stalls' })
  const response = await call('messages', 'any/chat')
  servers.chat.script = saysHello('chat')
  expect(await response.json()).toMatchObject({ content: [{ text: 'Hello' }], stop_reason: 'end_turn' })
  await expect.poll(() => servers.chat.openCalls()).toBe(0)
})

it('an error of a backend may be an event of a stream, whatever its status', async () => {
  const error = { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 1 maximum' }
  const event = `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`
  servers.messages.script = ({ res }) => void res.writeHead(400, { 'content-type': 'text/event-stream' }).end(event)
  const response = await call('chat', 'any/messages', true)
  servers.messages.script = saysHello('messages')
  const wanted = { error: { message: error.message, code: 'context_length_exceeded' } }
  expect([response.status, await response.json()]).toMatchObject([400, wanted])
})

it('a backend that does not stream is streamed to a client that has asked for it', async () => {
  const message = { role: 'assistant', content: 'Hello!' }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  servers.chat.script = answersJson({ object: 'chat.completion', choices, usage: { prompt_tokens: 3 } })
  const response = await call('messages', 'any/chat', true)
  servers.chat.script = saysHello('chat')
  const { events } = await readEvents(response)
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  expect(CHECKS.messages(events)).toEqual([])
  expect(events.map(({ data }) => data).join()).toContain('"text":"Hello!"')
})

describe('headers between dialects', () => {
  it('carry the credential as the backend wants it, and none of the vendor that the client was made for', async () => {
    await call('responses', 'any/messages', false, { 'openai-beta': 'b', 'x-codex-a': 'c', 'x-api-key': 'mine' })
    const { headers } = servers.messages.last()
    expect(headers).toMatchObject({ 'x-api-key': 'secret-of-TOKEN', 'anthropic-version': '2023-06-01' })
    for (const name of ['openai-beta', 'x-codex-a', 'authorization']) expect(headers).not.toHaveProperty(name)
  })

  it('leave out the limits of the other vendor, and keep how long to wait', async () => {
    const headers = { 'retry-after': '7', 'anthropic-ratelimit-requests-remaining': '0' }
    servers.messages.script = answersJson({ error: { type: 'rate_limit_error' } }, { status: 429, headers })
    const response = await call('chat', 'any/messages')
    servers.messages.script = saysHello('messages')
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7'])
    expect(response.headers.has('anthropic-ratelimit-requests-remaining')).toBe(false)
  })

  it.each([
    ['20000', '20'],
    ['622.4', '1'],
    ['soon', '1'],
  ])('say in seconds how long to wait where the backend says it in milliseconds only: %s', async (ms, seconds) => {
    const headers = { 'retry-after-ms': ms }
    servers.messages.script = answersJson({ error: { type: 'rate_limit_error' } }, { status: 429, headers })
    const response = await call('chat', 'any/messages')
    servers.messages.script = saysHello('messages')
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, seconds])
  })
})

it('an upstream for which the directory lists other dialects gets calls in these', async () => {
  const dialects = { name: 'vendora', dialects: ['messages'], url: null, basePath: '', credential: null } as const
  await using own = await startGateway({
    vendora: servers.messages.url,
    backends: [dialects],
    team: { models: [servedModel('any/vendora', { serve: [serveEntry('vendora', 'large-2026')] })] },
  })
  const response = await own.post(GATEWAY_PATHS.chat, greeting('chat', 'any/vendora'))
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"chat.completion"')])
  expect(servers.messages.last().url).toBe('/v1/messages')
})

describe('the token limit of a chat backend', () => {
  it.each([
    ['any/vendora', 'max_completion_tokens'],
    ['any/chat', 'max_tokens'],
  ])('of %s is %s', async (model, name) => {
    await gateway.post(GATEWAY_PATHS.messages, { ...greeting('messages', model), max_tokens: 123, top_k: 5 })
    const sent = bodyOf(servers.chat.last())
    expect(sent[name]).toBe(123)
    expect(sent).not.toHaveProperty('top_k')
  })
})

describe('a call in the dialect of its backend', () => {
  it('passes untouched but for the name of the model', async () => {
    const body = '{"model": "any/chat",  "messages": [], "unknown": 12345678901234567890}'
    await gateway.post(GATEWAY_PATHS.chat, body)
    expect(servers.chat.last().body.toString()).toBe(body.replace('any/chat', 'large-2026'))
  })

  it.each(DIALECT_NAMES)('is an error where it asked for no stream and gets one: %s', async (dialect) => {
    servers[dialect].script = streamsHello(dialect)
    const response = await call(dialect, `any/${dialect}`)
    servers[dialect].script = saysHello(dialect)
    expect([response.status, await response.json()]).toMatchObject([502, { error: { message: UNASKED.message } }])
  })
})

describe('what a backend cannot be asked', () => {
  it('goes to the next backend of the plan', async () => {
    const body = { ...greeting('chat', 'any/refused'), logprobs: true }
    const response = await gateway.post(GATEWAY_PATHS.chat, body)
    expect([response.status, response.headers.get('x-svc-served-by')]).toEqual([200, 'chat-server'])
  })

  it('is refused by name where there is no other', async () => {
    const response = await gateway.post(GATEWAY_PATHS.chat, { ...greeting('chat', 'any/messages'), logprobs: true })
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('logprobs')])
  })

  it('refuses to compact where no backend speaks responses', async () => {
    const response = await gateway.post('/codex/v1/responses/compact', { model: 'any/chat', input: [] })
    expect([response.status, await response.text()]).toEqual([501, expect.stringContaining('/responses/compact')])
  })

  describe('counts tokens at a responses backend', () => {
    const count = (content: string, signal: AbortSignal | null = null, model = 'any/responses') => {
      const body = { model, messages: [{ role: 'user', content }], tools: [] }
      return gateway.post('/vendorb/v1/messages/count_tokens', body, { signal })
    }
    const tokensOf = async (response: Response) => [
      ((await response.json()) as { input_tokens: number }).input_tokens,
      response.headers.get('x-svc-served-by'),
      response.headers.get('x-svc-estimated'),
    ]

    it('exactly, by its own count', async () => {
      servers.responses.restart(answersJson({ object: 'response.input_tokens', input_tokens: 1234 }))
      gateway.events.length = 0
      expect(await tokensOf(await count('Hello'))).toEqual([1234, 'responses-server', null])
      expect(gateway.events).toMatchObject([
        {
          kind: 'finished',
          call: { servedBy: 'responses-server', model: 'any/responses', dialect: 'messages' },
          result: { status: 200, usage: FREE_USAGE, attempts: [{ backend: 'responses-server', result: '200' }] },
        },
      ])
      const { url, body, headers } = servers.responses.last()
      expect([url, headers['authorization']]).toEqual(['/v1/responses/input_tokens', 'Bearer secret-of-TOKEN'])
      expect(Object.keys(JSON.parse(body.toString()) as object).toSorted()).toEqual(['input', 'model'])
    })

    it('until the caller leaves', async () => {
      servers.responses.restart(neverAnswers)
      gateway.events.length = 0
      const leaving = new AbortController()
      const counting = count('Hello', leaving.signal)
      await expect.poll(() => servers.responses.openCalls()).toBe(1)
      leaving.abort()
      await expect(counting).rejects.toThrow()
      await expect.poll(() => servers.responses.openCalls(), { timeout: 2_000 }).toBe(0)
      await expect.poll(() => gateway.events).toMatchObject([{ kind: 'failed', result: { outcome: 'left' } }])
      servers.responses.restart(saysHello('responses'))
    })

    it('by an estimate where that fails, without asking a server again that does not count', async () => {
      servers.responses.restart(answersJson({ error: { message: 'busy' } }, { status: 503 }))
      gateway.events.length = 0
      expect(await tokensOf(await count('Hello'))).toEqual([expect.any(Number), 'gateway', '1'])
      servers.responses.restart(answersJson({ error: { message: 'Not found' } }, { status: 404 }))
      for (const _ of [1, 2]) expect(await tokensOf(await count('Hello'))).toEqual([2, 'gateway', '1'])
      expect(servers.responses.calls).toHaveLength(1)
      // No backend serves an estimate.
      expect(gateway.events).toEqual([])
      // The server may not know only that model.
      servers.responses.restart(answersJson({ object: 'response.input_tokens', input_tokens: 12 }))
      expect(await tokensOf(await count('Hello', null, 'any/small'))).toEqual([12, 'responses-server', null])
      servers.responses.restart(saysHello('responses'))
    })
  })

  it('counts the tokens of a responses call at a messages backend', async () => {
    servers.messages.restart(answersJson({ input_tokens: 1234 }))
    const body = { model: 'any/counter', input: 'Hello', instructions: 'Be brief.', max_output_tokens: 100 }
    const response = await gateway.post('/v1/responses/input_tokens', body)
    expect([await response.json(), response.headers.get('x-svc-served-by')]).toEqual([
      { object: 'response.input_tokens', input_tokens: 1234 },
      'counter',
    ])
    expect(servers.messages.last().url).toBe('/v1/messages/count_tokens')
    expect(bodyOf(servers.messages.last())).toEqual({
      model: 'large-2026',
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }] }],
    })
    servers.messages.restart(saysHello('messages'))
  })

  it('refuses to count the tokens of a response that is stored elsewhere', async () => {
    const body = { model: 'any/chat', input: 'Hello', previous_response_id: 'resp_1' }
    const response = await gateway.post('/v1/responses/input_tokens', body)
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('previous_response_id')])
  })

  it.each([
    ['/vendorb/v1/messages/count_tokens', { messages: [{ role: 'user', content: 'x'.repeat(3000) }] }],
    ['/v1/responses/input_tokens', { input: 'x'.repeat(3000) }],
  ])('estimates tokens where no backend can count them, and says so: %s', async (path, conversation) => {
    const response = await gateway.post(path, { model: 'any/chat', ...conversation })
    const { headers } = response
    expect([response.status, headers.get('x-svc-estimated'), headers.get('x-svc-served-by')]).toEqual([
      200,
      '1',
      'gateway',
    ])
    const { input_tokens: tokens } = (await response.json()) as { input_tokens: number }
    expect(tokens).toBeGreaterThanOrEqual(1000)
    expect(tokens).toBeLessThan(1500)
  })
})

describe('a change of the directory', () => {
  it('lets running calls end at a backend that is removed, and sends it no other', async () => {
    let release = () => {}
    servers.chat.script = (seen) => new Promise<void>((done) => (release = done)).then(() => saysHello('chat')(seen))
    const before = servers.chat.calls.length
    const running = call('chat', 'any/chat')
    await expect.poll(() => servers.chat.calls.length).toBe(before + 1)
    gateway.applyBackends([listed('messages'), listed('responses')])
    release()
    expect((await running).status).toBe(200)
    expect((await call('chat', 'any/chat')).status).toBe(503)
    servers.chat.script = saysHello('chat')
    gateway.applyBackends(DIALECT_NAMES.map(listed))
    expect((await call('chat', 'any/chat')).status).toBe(200)
  })

  it('does not open a backend whose credential is missing here, and tells the operator once', async () => {
    const unset: DirectoryBackend = { ...listed('chat'), credential: { env: 'UNSET', file: null, as: 'bearer' } }
    for (let times = 0; times < 2; times++) gateway.applyBackends([unset])
    expect((await call('chat', 'any/chat')).status).toBe(503)
    expect(gateway.log.filter(({ event }) => event === 'backend.credential_missing')).toHaveLength(1)
    gateway.applyBackends(DIALECT_NAMES.map(listed))
  })
})
