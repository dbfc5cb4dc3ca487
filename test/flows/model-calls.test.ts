import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { freePort } from '../support/loopback.ts'
import { messageOf, outcomeOf } from '../support/requests.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, neverAnswers, startUpstream, streams } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const LARGE = servedModel('vendora/large')
const NAMED = servedModel('vendora/named', { upstreamModel: 'large-2026' })
const FAST = servedModel('svc/fast', { backendModel: 'qwen3:8b' })
const BOTH = servedModel('svc/both', { backendModel: 'qwen3:8b', upstreamModel: 'large-2026' })
const DRAFT = servedModel('svc/draft', { certified: false })
const ELSEWHERE = servedModel('svc/elsewhere', { serve: [serveEntry('other', 'large-2026')] })
const TEAM = { defaultModel: 'vendora/large', models: [LARGE, NAMED, FAST, BOTH, DRAFT, ELSEWHERE] }

const MESSAGES = [{ role: 'user', content: 'Grüß Gott' }]
const CALLS = [
  { path: '/v1/chat/completions', upstream: 'vendora', goesTo: '/v1/chat/completions', body: { messages: MESSAGES } },
  { path: '/v1/responses', upstream: 'vendora', goesTo: '/v1/responses', body: { input: 'hi' } },
  {
    path: '/codex/v1/responses',
    upstream: 'vendorc',
    goesTo: '/v1/responses',
    body: { input: [{ type: 'message', role: 'user', content: 'hi' }] },
  },
  {
    path: '/vendorb/v1/messages',
    upstream: 'vendorb',
    goesTo: '/v1/messages',
    body: { max_tokens: 9, messages: MESSAGES },
  },
] as const

// Opening a gateway takes long, because it reads the whole contract. So the cases share a few.
let upstream: TestUpstream
let gateway: TestGateway
/** With a short idle time. */
let shortIdle: TestGateway
/** Its upstreams cannot be reached. */
let unreachable: TestGateway
/** Without any backend. */
let alone: TestGateway
let engine: TestEngine
let local: TestGateway

beforeAll(async () => {
  upstream = await startUpstream()
  engine = await startEngine()
  const everywhere = { vendora: upstream.url, vendorb: upstream.url, vendorc: upstream.url }
  gateway = await startGateway(everywhere)
  shortIdle = await startGateway({ team: TEAM, idleTimeoutMs: 300, ...everywhere })
  const nowhere = new URL(`http://127.0.0.1:${await freePort()}`)
  unreachable = await startGateway({ team: TEAM, vendora: nowhere, vendorb: nowhere, vendorc: nowhere })
  alone = await startGateway({ team: TEAM })
  local = await startGateway({ team: TEAM, engine: engine.url })
})

beforeEach(() => {
  upstream.restart(answersJson({}))
  gateway.known.team = TEAM
  engine.chat = null
})

afterAll(async () => {
  for (const started of [gateway, shortIdle, unreachable, alone, local, upstream, engine])
    await started[Symbol.asyncDispose]()
})

describe.each(CALLS)('POST $path to an upstream', ({ path, upstream: group, goesTo, body }) => {
  it('sends the caller’s bytes untouched and answers with the bytes that come back', async () => {
    const answer = { id: '1', big: 1, text: 'ü' }
    upstream.restart(answersJson(answer, { headers: { 'request-id': 'req_up' } }))
    const named = JSON.stringify({ ...body, model: 'vendora/large' }).slice(0, -1)
    const sent = ` ${named}, "seed":12345678901234567890,"t":1.0}`
    const res = await gateway.post(`${path}?beta=true&x=`, sent, {
      headers: { 'anthropic-version': '2023-06-01', 'x-svc-session-id': 's', cookie: 'a=b' },
    })

    expect(res.status).toBe(200)
    expect(await res.text()).toBe(JSON.stringify(answer))
    expect(res.headers.get('x-svc-served-by')).toBe(group)
    expect(res.headers.get('request-id')).toBe('req_up')
    expect(res.headers.get('x-request-id')).toMatch(/^req_/)
    expect(res.headers.get('x-svc-request-id')).toBe(res.headers.get('x-request-id'))
    const seen = upstream.last()
    expect([seen.method, seen.url, seen.body.toString()]).toEqual(['POST', `${goesTo}?beta=true&x=`, sent])
    expect(seen.headers).toMatchObject({
      authorization: 'Bearer upstream-token',
      'anthropic-version': '2023-06-01',
      'accept-encoding': 'identity',
    })
    expect(Object.keys(seen.headers).filter((name) => /cookie|^x-(svc|forwarded)/.test(name))).toEqual([])
  })

  it('streams the events as they come', async () => {
    const events = ['data: {"a":1}\n\n', ': ping\n\n', 'data: [DONE]\n\n']
    upstream.restart(streams(events))
    const res = await gateway.post(path, { ...body, stream: true })
    expect(res.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(res.headers.get('x-svc-served-by')).toBe(group)
    expect(await res.text()).toBe(events.join(''))
  })

  it("adds the team's default model where the caller names none, and changes nothing else", async () => {
    await gateway.post(path, body)
    expect(upstream.last().body.toString()).toBe(`{"model":"vendora/large",${JSON.stringify(body).slice(1)}`)
  })

  it("replaces the model's id by the upstream's own name", async () => {
    await gateway.post(path, { ...body, model: 'vendora/named' })
    expect(upstream.last().body.toString()).toBe(JSON.stringify({ ...body, model: 'large-2026' }))
  })

  it.each([
    [400, { error: { type: 'invalid_request_error', message: 'no' } }, {}],
    [429, { error: { message: 'slow' } }, { 'retry-after': '7', 'x-should-retry': 'true' }],
    [529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, {}],
  ])("hands on the upstream's %i unchanged, and does not call again", async (status, error, headers) => {
    upstream.restart(answersJson(error, { status, headers: { ...headers, 'request-id': 'req_up' } }))
    const res = await gateway.post(path, { ...body, stream: true })
    expect([res.status, await res.json()]).toEqual([status, error])
    expect(Object.fromEntries(res.headers)).toMatchObject({
      ...headers,
      'request-id': 'req_up',
      'x-svc-served-by': group,
    })
    expect(upstream.calls.length).toBe(1)
  })

  it.each([
    [422, { detail: [{ loc: ['body', 'seed'], msg: 'No number' }] }, 'body.seed: No number', 'detail'],
    [400, { object: 'error', message: 'Wrong seed', type: 'BadRequestError', code: 400 }, 'Wrong seed', 'code'],
    [400, [{ error: { code: 400, message: 'Wrong seed', status: 'INVALID_ARGUMENT' } }], 'Wrong seed', 'status'],
    [500, { error: 'The runner has stopped', error_type: 'generation' }, 'The runner has stopped', 'error_type'],
  ])('writes an error of %i and of another shape in that of the dialect: %j', async (status, error, message, kept) => {
    upstream.restart(answersJson(error, { status }))
    const response = await gateway.post(path, body)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({
      error: { message, type: expect.any(String), [kept]: expect.anything() },
    })
  })

  it.each([
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ])('decompresses a %s body, and sends no content encoding', async (encoding, compress) => {
    const sent = JSON.stringify({ ...body, model: 'vendora/large' })
    const headers = { 'content-encoding': encoding }
    await gateway.post(path, '', { body: compress(sent), headers })
    expect(upstream.last().body.toString()).toBe(sent)
    expect(upstream.last().headers).not.toHaveProperty('content-encoding')
  })

  it.each([
    ['model_not_allowed', 403, { model: 'vendora/unknown' }],
    ['model_not_allowed', 403, { model: 'svc/draft' }],
    ['model_not_allowed', 403, { model: '' }],
    ['invalid_request', 400, { model: 7 }],
    ['invalid_request', 400, { model: null }],
    ['invalid_request', 400, { stream: 'yes' }],
  ])('refuses with %s (%i): %j', async (code, status, given) => {
    const res = await gateway.post(path, { ...body, ...given })
    expect(await outcomeOf(res)).toBe(`${status} ${code}`)
    expect(res.headers.get('x-should-retry')).toBe(status === 403 ? 'false' : null)
    expect(upstream.calls).toEqual([])
  })

  it.each([
    ['a body that is no object', '[]'],
    ['a body that is no JSON', '{'],
    ['a model twice', '{"messages":[],"model":"vendora/large","model":"svc/draft"}'],
    ['a model in two spellings', '{"messages":[],"model":"vendora/large","Model":"svc/draft"}'],
    ['a model escaped the second time', '{"messages":[],"model":"vendora/large","mod\\u0065l":"svc/draft"}'],
    ['stream twice', '{"messages":[],"stream":true,"stream":false}'],
  ])('refuses %s', async (_name, text) => {
    const res = await gateway.post(path, text)
    expect(await outcomeOf(res)).toBe('400 invalid_request')
    expect(upstream.calls).toEqual([])
  })

  it('refuses a call that names no model when the team has no default', async () => {
    gateway.known.team = { ...TEAM, defaultModel: null }
    const res = await gateway.post(path, body)
    expect(await outcomeOf(res)).toBe('400 invalid_request')
  })

  it('refuses a caller whose team no longer exists', async () => {
    gateway.known.team = null
    expect(await outcomeOf(await gateway.post(path, body))).toBe('403 model_not_allowed')
  })

  it('refuses an unknown token', async () => {
    const res = await gateway.post(path, body, { headers: { authorization: 'Bearer wrong' } })
    expect([await outcomeOf(res), upstream.calls.length]).toEqual(['401 unauthorized', 0])
  })

  it('answers 502 when the upstream fails, and logs why', async () => {
    upstream.restart(({ socket }) => socket.destroySoon())
    const res = await gateway.post(path, body)
    expect(await outcomeOf(res)).toBe('502 upstream_failed')
    expect(res.headers.get('x-svc-served-by')).toBe(group)
    const broken = gateway.log.findLast(({ event }) => event === 'call.upstream_failed')
    expect(broken?.fields).toMatchObject({ kind: 'failed', servedBy: group })
  })

  it('answers 502 when the upstream cannot be reached', async () => {
    const res = await unreachable.post(path, body)
    expect(await outcomeOf(res)).toBe('502 upstream_failed')
  })

  it('answers 504 when the upstream is silent', async () => {
    upstream.restart(neverAnswers)
    const res = await shortIdle.post(path, body)
    expect(await outcomeOf(res)).toBe('504 upstream_timeout')
  })

  it('answers 503 with Retry-After when the service stops before the answer, which is no failure of the upstream', async () => {
    upstream.restart(neverAnswers)
    await using stopping = await startGateway({ team: TEAM, [group]: upstream.url })
    const answers = [false, true].map((stream) => stopping.post(path, { ...body, stream }))
    await expect.poll(() => upstream.openCalls()).toBe(2)
    await stopping.stopCalls()
    for (const answer of answers) {
      const res = await answer
      expect(await outcomeOf(res)).toBe('503 service_unavailable')
      expect([res.headers.get('retry-after'), res.headers.get('x-should-retry')]).toEqual(['1', null])
    }
    expect(stopping.events.map(({ result }) => result?.outcome)).toEqual(['ended', 'ended'])
    expect(stopping.log.filter(({ event }) => event === 'call.upstream_failed')).toEqual([])
  })

  it('answers 503 without Retry-After when no backend serves the model', async () => {
    const res = await alone.post(path, body)
    expect(await outcomeOf(res)).toBe('503 model_unavailable')
    expect([res.headers.get('x-should-retry'), res.headers.get('retry-after')]).toEqual(['false', null])
  })

  it('tells who can add a backend to a model that none serves', async () => {
    const hint = 'The operator can name backends for it in the directory file (serve)'
    expect(await messageOf(await alone.post(path, body))).toContain(hint)
    const listed = await alone.post(path, { ...body, model: 'svc/elsewhere' })
    expect(await messageOf(listed)).toContain('none of its backends can be used on this gateway. Tell the operator.')
  })

  it('lets opencode, which repeats every error of 500 and above, show a permanent one after seconds', async () => {
    const permanent = await alone.post(path, body)
    expect(permanent.headers.get('retry-after-ms')).toBe('1000')
    upstream.restart(neverAnswers)
    const passing = await shortIdle.post(path, body)
    expect([passing.status, passing.headers.get('retry-after-ms')]).toEqual([504, null])
    const refused = await alone.post(path, { ...body, model: 'no/such' })
    expect([refused.status, refused.headers.get('retry-after-ms')]).toEqual([403, null])
  })

  it('answers 401 when the caller’s session ends before the answer', async () => {
    upstream.restart(neverAnswers)
    const answer = gateway.post(path, body)
    await expect.poll(() => upstream.openCalls()).toBe(1)
    gateway.endSession()
    expect(await outcomeOf(await answer)).toBe('401 unauthorized')
    await expect.poll(() => upstream.openCalls()).toBe(0)
    expect(gateway.watched()).toBe(0)
  })

  it('ends a stream as a failure when the caller’s session ends', async () => {
    upstream.restart(streams(['data: 1\n\n'], { end: 'stalls' }))
    const res = await gateway.post(path, { ...body, stream: true })
    gateway.endSession()
    // The last event says it. In the chat dialect only a broken connection cannot look like success.
    if (goesTo === '/v1/chat/completions') await expect(res.text()).rejects.toThrow()
    else expect(await res.text()).toMatch(/"type":"(response\.failed|error)".*"code":"unauthorized"/)
    await expect.poll(() => upstream.openCalls()).toBe(0)
    expect(gateway.watched()).toBe(0)
  })
})

describe('the vendor B group', () => {
  it('takes the access token as x-api-key, and does not send it upstream', async () => {
    const res = await fetch(`${gateway.url}/vendorb/v1/messages`, {
      method: 'POST',
      body: JSON.stringify({ messages: MESSAGES }),
      headers: { 'x-api-key': 'a-good-token', 'content-type': 'application/json' },
    })
    expect(res.status).toBe(200)
    expect(upstream.last().headers).not.toHaveProperty('x-api-key')
  })
})

describe('a chat completion of the local worker', () => {
  it('asks for the backend’s model with clamped limits, and answers with the service’s model', async () => {
    const res = await local.post(
      '/v1/chat/completions',
      `{"max_tokens":99999, "model":"svc/fast","messages":[],"max_completion_tokens":5,"seed":1.0}`,
    )
    expect(res.headers.get('x-svc-served-by')).toBe('local-engine')
    expect(await res.json()).toMatchObject({ model: 'svc/fast', choices: [{ message: { content: 'Hello!' } }] })
    expect(engine.lastChat().body.toString()).toBe(
      `{"max_tokens":4096, "model":"qwen3:8b","messages":[],"max_completion_tokens":5,"seed":1.0}`,
    )
    expect(engine.lastChat().headers).not.toHaveProperty('authorization')
  })

  it('streams chunks with the service’s model until [DONE]', async () => {
    const text = await local
      .post('/v1/chat/completions', { model: 'svc/fast', messages: MESSAGES, stream: true })
      .then((res) => res.text())
    const data = text
      .trimEnd()
      .split('\n\n')
      .map((event) => event.slice('data: '.length))
    expect(data.at(-1)).toBe('[DONE]')
    expect(data.slice(0, -1).map((chunk) => (JSON.parse(chunk) as { model: string }).model)).toEqual([
      'svc/fast',
      'svc/fast',
      'svc/fast',
    ])
  })

  it("hands on the engine's own error", async () => {
    engine.chat = answersJson({ error: { message: 'context too long' } }, { status: 400 })
    const res = await local.post('/v1/chat/completions', { model: 'svc/fast', messages: [] })
    expect([res.status, await res.text()]).toEqual([400, '{"error":{"message":"context too long"}}'])
  })

  it('answers 503 when the engine cannot be reached, and probes the worker at once', async () => {
    await using engine = await startEngine()
    await using gateway = await startGateway({ team: TEAM, engine: engine.url })
    await gateway.get('/v1/workers')
    await engine[Symbol.asyncDispose]()
    const res = await gateway.post('/v1/chat/completions', { model: 'svc/fast', messages: [] })
    expect(await outcomeOf(res)).toBe('503 model_unavailable')
    await expect
      .poll(() => gateway.log.filter(({ event }) => event === 'worker.changed').at(-1)?.fields)
      .toMatchObject({ found: 'unavailable' })
  })

  it('goes to the upstream under its name there while the engine cannot be reached', async () => {
    await using upstream = await startUpstream()
    await using engine = await startEngine()
    await engine[Symbol.asyncDispose]()
    await using gateway = await startGateway({ team: TEAM, vendora: upstream.url, engine: engine.url })
    const res = await gateway.post('/v1/chat/completions', { model: 'svc/both', messages: [] })
    expect(res.headers.get('x-svc-served-by')).toBe('vendora')
    expect(JSON.parse(upstream.last().body.toString())).toMatchObject({ model: 'large-2026' })
  })

  it('goes to the engine while both the engine and the upstream are there', async () => {
    await using upstream = await startUpstream()
    await using engine = await startEngine()
    await using gateway = await startGateway({ team: TEAM, vendora: upstream.url, engine: engine.url })
    const res = await gateway.post('/v1/chat/completions', { model: 'svc/both', messages: [] })
    expect(res.headers.get('x-svc-served-by')).toBe('local-engine')
    expect(upstream.calls).toEqual([])
  })

  it('breaks off when the engine does', async () => {
    engine.chat = streams(['data: {"model":"qwen3:8b"}\n\n'], { end: 'breaks' })
    const res = await local.post('/v1/chat/completions', { model: 'svc/fast', messages: [], stream: true })
    await expect(res.text()).rejects.toThrow()
  })
})

describe('the lists of models', () => {
  const lists = ['/v1/models', '/codex/v1/models?client_version=0.169.0', '/vendorb/v1/models?limit=1000']

  it.each(lists)('%s shows the published models of the team', async (path) => {
    gateway.known.team = { defaultModel: null, models: [LARGE, servedModel('svc/hidden', { published: false }), DRAFT] }
    const res = await gateway.get(path)
    const { data } = (await res.json()) as { data: { id: string }[] }
    expect([res.status, data.map(({ id }) => id)]).toEqual([200, ['vendora/large', 'svc/draft']])
  })

  it.each(lists)(
    '%s is empty for a caller whose team no longer exists, refuses unknown tokens and answers HEAD',
    async (path) => {
      gateway.known.team = null
      expect(await gateway.get(path).then((res) => res.json())).toMatchObject({ data: [] })
      expect((await fetch(gateway.url + path)).status).toBe(401)
      expect((await gateway.get(path, { method: 'HEAD' })).status).toBe(200)
    },
  )
})

describe('the workers', () => {
  it('are the local worker, with the models that the caller sees and their states', async () => {
    const worker = {
      id: 'local-engine',
      mode: 'airplane',
      kind: 'local',
      protocol: 'vendora-compatible',
      state: 'ready',
      models: [
        { id: 'svc/fast', backendModel: 'qwen3:8b', state: 'ready' },
        { id: 'svc/both', backendModel: 'qwen3:8b', state: 'ready' },
      ],
      capabilities: ['chat', 'code', 'streaming', 'tools'],
    }
    expect(await local.get('/v1/workers').then((res) => res.json())).toEqual({ workers: [worker] })
    expect(await local.get('/v1/workers/local-engine').then((res) => res.json())).toEqual(worker)
  })

  it('do not include any other', async () => {
    const res = await local.get('/v1/workers/other')
    expect(await outcomeOf(res)).toBe('404 not_found')
  })

  it('are shown as not configured without an engine', async () => {
    const { workers } = (await alone.get('/v1/workers').then((res) => res.json())) as {
      workers: { state: string; models: { state: string }[] }[]
    }
    expect(workers.map(({ state, models }) => [state, models[0]?.state])).toEqual([
      ['not_configured', 'not_configured'],
    ])
  })
})
