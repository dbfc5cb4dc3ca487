import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ServeEntry } from '../../src/directory/backends.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { UNREADABLE } from '../../src/gateway/exchange/unreadable-answer.ts'
import { bodyOf, GATEWAY_PATHS, greeting, saysHello, streamsHello } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { readEvents } from '../support/read-events.ts'
import { freePort } from '../support/loopback.ts'
import { outcomeOf } from '../support/requests.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, neverAnswers, startUpstream, streams } from '../support/upstream.ts'
import type { Script, TestUpstream } from '../support/upstream.ts'

const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'large',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
}
const answers = answersJson(COMPLETION)
const redirects: Script = ({ res }) => void res.writeHead(308, { location: '/v1/' }).end()
const fails = (status: number, headers: Record<string, string> = {}): Script =>
  answersJson({ error: { message: `status ${status}`, type: 'test' } }, { status, headers })

/** A server that is not the API of the backend. */
const answersPage: Script = ({ res }) => {
  res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<!doctype html><title>Welcome</title>')
}

/** Compresses its answer, although it is asked not to. */
const compressed =
  (status: number, headers: Record<string, string> = {}): Script =>
  ({ res }) => {
    const more = { 'content-type': 'application/json', 'content-encoding': 'gzip', ...headers }
    res.writeHead(status, more).end(gzipSync(JSON.stringify(COMPLETION)))
  }

/** The page of a server that compresses. */
const answersCompressedPage: Script = ({ res }) => {
  const headers = { 'content-type': 'text/html', 'content-encoding': 'gzip' }
  res.writeHead(200, headers).end(gzipSync('<!doctype html><title>Welcome</title>'))
}

const CHUNK = 'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'

/** A responses stream that repeats the instructions, and fails before it has any part of an answer. */
const announcesThenFails = (code: string, instructions = 'Be brief.'): Script =>
  streams(
    [
      { type: 'response.created', response: { id: 'resp_failed', status: 'in_progress', instructions } },
      { type: 'response.in_progress', response: { id: 'resp_failed', status: 'in_progress', instructions } },
      { type: 'response.failed', response: { id: 'resp_failed', status: 'failed', error: { code, message: 'no' } } },
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
  )

let a: TestUpstream
let b: TestUpstream
let c: TestUpstream
let deadUrl: URL
let gateway: TestGateway

beforeAll(async () => {
  ;[a, b, c] = await Promise.all([startUpstream(), startUpstream(), startUpstream()])
  deadUrl = new URL(`http://127.0.0.1:${await freePort()}`)
  gateway = await startGateway({ vendora: a.url, vendorb: a.url, idleTimeoutMs: 300, keepAliveMs: 150 })
})
afterAll(async () => {
  for (const one of [gateway, a, b, c]) await one[Symbol.asyncDispose]()
})
beforeEach(() => {
  for (const one of [a, b, c]) one.restart(answers)
  gateway.events.length = 0
  gateway.log.length = 0
})

type Place = { readonly to: string; readonly more?: Partial<ServeEntry> }

let made = 0

/** A model with these backends, which no earlier test has used. Returns the names of the backends. */
function serve(places: readonly Place[], dialect: Dialect = 'chat'): string[] {
  made += 1
  const nameOf = (at: number) => `t${made}-${places[at]?.to ?? ''}`
  const urls: Record<string, URL> = { a: a.url, b: b.url, c: c.url, dead: deadUrl }
  gateway.applyBackends(
    places.map(({ to }, at) => ({
      name: nameOf(at),
      dialects: [dialect],
      url: urls[to]?.href ?? null,
      basePath: '/v1',
      credential: null,
    })),
  )
  const entries = places.map(({ more }, at) => serveEntry(nameOf(at), 'large', { rank: at, ...more }))
  const models = [
    servedModel('any/model', { serve: entries }),
    servedModel('vendora/plain'),
    servedModel('vendorb/plain'),
  ]
  gateway.known.team = { defaultModel: null, models }
  return places.map((_, at) => nameOf(at))
}

const body = { model: 'any/model', messages: [{ role: 'user', content: 'hi' }] }
const post = (more: object = {}, headers: Record<string, string> = {}) =>
  gateway.post('/v1/chat/completions', { ...body, ...more }, { headers })

/** The header of attempts, with `a` for the name of the backend at `a`. */
const attemptsOf = (response: Response) => response.headers.get('x-svc-attempts')?.replaceAll(/t\d+-/g, '') ?? null
const servedBy = (response: Response) => response.headers.get('x-svc-served-by')?.replace(/t\d+-/, '') ?? null

describe('the next backend is asked', () => {
  it.each([401, 402, 403, 404, 408, 429, 500, 502, 503, 504, 520, 529])('after status %i', async (status) => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(fails(status))
    const response = await post()
    expect([response.status, servedBy(response), attemptsOf(response)]).toEqual([200, 'b', `a=${status},b=200`])
    expect(await response.json()).toEqual(COMPLETION)
    expect([a.calls.length, b.calls.length]).toEqual([1, 1])
  })

  it.each(['chat', 'messages'] as const)(
    'after a 400 about the name of the model, and the log says so: %s',
    async (dialect) => {
      const [first] = serve([{ to: 'a' }, { to: 'b' }], dialect)
      a.restart(answersJson({ error: { message: 'Model Not Exist', type: 'invalid_request_error' } }, { status: 400 }))
      if (dialect !== 'chat') b.restart(saysHello(dialect))
      const response = await post()
      expect([response.status, attemptsOf(response)]).toEqual([200, 'a=400,b=200'])
      await expect
        .poll(() => gateway.log)
        .toContainEqual({
          event: 'call.backend_refused',
          fields: expect.objectContaining({ servedBy: first, status: 400 }),
        })
    },
  )

  it('after an error that is too large to be sent in one write', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(answersJson({ error: { message: 'x'.repeat(1024 * 1024) } }, { status: 503 }))
    const response = await post()
    expect([response.status, attemptsOf(response)]).toEqual([200, 'a=503,b=200'])
  })

  it('when no connection can be made', async () => {
    serve([{ to: 'dead' }, { to: 'b' }])
    const response = await post()
    expect([response.status, attemptsOf(response)]).toEqual([200, 'dead=unreachable,b=200'])
  })

  it('when a count of tokens has found that no connection can be made to the first', async () => {
    serve([{ to: 'dead' }, { to: 'b' }], 'responses')
    b.restart(answersJson({ object: 'response.input_tokens', input_tokens: 12 }))
    expect(servedBy(await gateway.post('/v1/messages/count_tokens', body))).toBe('b')
    b.restart(saysHello('responses'))
    const response = await post()
    expect([response.status, servedBy(response), attemptsOf(response)]).toEqual([200, 'b', null])
  })

  it('and the header has the status of a backend with another dialect as the backend sent it', async () => {
    serve([{ to: 'a' }, { to: 'b' }], 'messages')
    for (const one of [a, b]) one.restart(fails(529))
    const response = await post()
    expect([response.status, attemptsOf(response)]).toEqual([503, 'a=529,b=529'])
    await expect.poll(() => gateway.events.at(-1)).toMatchObject({ kind: 'failed', result: { status: 529 } })
  })

  it.each([402, 429])(
    'after status %i of another dialect, although its body calls the request wrong',
    async (status) => {
      serve([{ to: 'a' }, { to: 'b' }])
      a.restart(answersJson({ error: { message: 'Insufficient Balance', code: 'invalid_request_error' } }, { status }))
      const response = await gateway.post('/vendorb/v1/messages', greeting('messages', 'any/model', false))
      expect([response.status, attemptsOf(response)]).toEqual([200, `a=${status},b=200`])
    },
  )

  it('when a stream begins with an error, and the caller sees nothing of it', async () => {
    serve([{ to: 'a' }, { to: 'b' }], 'messages')
    a.restart(streams(['event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"no"}}\n\n']))
    b.restart(saysHello('messages'))
    const response = await gateway.post('/vendorb/v1/messages', greeting('messages', 'any/model', true))
    expect([response.status, attemptsOf(response)]).toEqual([200, 'a=529,b=200'])
    expect(await response.text()).toMatch(/^event: message_start\n/)
  })

  it.each([
    [400, { message: 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.' }],
    [400, { message: 'You have reached your specified API usage limits. You will regain access on 2026-12-01.' }],
    [400, { message: 'You have reached your specified workspace API usage limits. You will regain access later.' }],
    [400, { message: 'This organization has been disabled.' }],
    [400, { message: 'Access denied, please make sure your account is in good standing.', code: 'Arrearage' }],
    [412, { message: 'Account a is suspended, possibly due to reaching the monthly spending limit.' }],
  ])('when the account of the first cannot be used, which it calls a wrong request: %i %j', async (status, said) => {
    const refuses = answersJson({ type: 'error', error: { type: 'invalid_request_error', ...said } }, { status })
    for (const dialect of ['chat', 'messages'] as const) {
      serve([{ to: 'a' }, { to: 'b' }], dialect)
      a.restart(refuses)
      b.restart(saysHello(dialect))
      const response = await gateway.post('/vendorb/v1/messages', greeting('messages', 'any/model', false))
      expect([response.status, attemptsOf(response)]).toEqual([200, `a=${status},b=200`])
    }
  })

  it('when a whole answer of 200 is an error', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(answersJson({ error: { message: 'no', code: 503 }, user_id: 'user_1' }))
    const response = await post()
    expect([response.status, attemptsOf(response)]).toEqual([200, 'a=503,b=200'])
    expect(await response.json()).toEqual(COMPLETION)
  })

  it.each([
    ['chat', false],
    ['chat', true],
    ['messages', false],
    ['messages', true],
  ] as const)('when the answer of a %s backend is a web page (stream: %s)', async (dialect, stream) => {
    const names = serve([{ to: 'a' }, { to: 'b' }], dialect)
    a.restart(answersPage)
    b.restart(saysHello(dialect))
    const response = await post({ stream })
    expect([response.status, attemptsOf(response)]).toEqual([200, 'a=502,b=200'])
    expect(await response.text()).toContain('Hello')

    b.restart(answersPage)
    const refused = await post({ stream })
    expect([refused.status, refused.headers.get('content-type'), attemptsOf(refused)]).toEqual([
      502,
      'application/json',
      'a=502,b=502',
    ])
    const message = 'The backend answered with a web page. Its URL may be wrong.'
    expect(await refused.json()).toMatchObject({ error: { message } })
    expect(names).toContain(refused.headers.get('x-svc-served-by'))
  })

  it.each<[string, Script, string]>([
    ['a redirect', redirects, 'a redirect'],
    [
      'a web page in other letters',
      ({ res }) => void res.writeHead(200, { 'content-type': 'Text/HTML' }).end('<'),
      'page',
    ],
    [
      'a web page that is too large to be held',
      ({ res }) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<'.repeat(1024 * 1024 + 1)),
      'page',
    ],
    ['no body', ({ res }) => void res.writeHead(200, { 'content-type': 'application/json' }).end(), 'an empty answer'],
    ['an empty stream', ({ res }) => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(), 'empty'],
  ])('when the answer is %s, whatever the dialect', async (_name, script, words) => {
    for (const dialect of ['chat', 'messages'] as const) {
      for (const stream of [false, true]) {
        serve([{ to: 'a' }, { to: 'b' }], dialect)
        a.restart(script)
        b.restart(saysHello(dialect))
        const response = await post({ stream })
        expect([response.status, attemptsOf(response)]).toEqual([200, 'a=502,b=200'])

        serve([{ to: 'a' }], dialect)
        const refused = await post({ stream })
        const message = expect.stringContaining(words) as string
        expect([refused.status, await refused.json()]).toMatchObject([502, { error: { message } }])
      }
    }
  })

  it('when the answer is a stream, and the caller asked for none', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(streamsHello('chat'))
    const response = await post()
    expect([response.status, attemptsOf(response)]).toEqual([200, 'a=502,b=200'])
    expect(await response.json()).toEqual(COMPLETION)
  })

  it.each<[Dialect, string]>([
    ['chat', ': wait\n\n'],
    ['messages', 'event: ping\ndata: {"type":"ping"}\n\n'],
  ])('when the stream of a %s backend ends before its answer begins', async (dialect, event) => {
    serve([{ to: 'a' }, { to: 'b' }], dialect)
    a.restart(streams([': wait\n\n', event]))
    b.restart(streamsHello(dialect))
    const response = await post({ stream: true })
    expect([response.status, attemptsOf(response)]).toEqual([200, 'a=502,b=200'])
    expect(await response.text()).toContain('Hello')
  })

  it('when the answer is a compressed web page, and the error is not called compressed', async () => {
    serve([{ to: 'a' }])
    a.restart(answersCompressedPage)
    const refused = await post()
    expect([refused.status, refused.headers.get('content-encoding')]).toEqual([502, null])
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining('web page') as string } })
  })

  it('when an error of another dialect is compressed: its status still says what it is', async () => {
    serve([{ to: 'a' }, { to: 'b' }], 'messages')
    a.restart(compressed(429, { 'retry-after': '7' }))
    b.restart(saysHello('messages'))
    const response = await post()
    expect([response.status, attemptsOf(response)]).toEqual([200, 'a=429,b=200'])

    b.restart(fails(503))
    const refused = await post()
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toMatchObject([
      429,
      '7',
      { error: { message: UNREADABLE.compressed } },
    ])
  })

  it.each([10, 100_000])(
    'when a responses stream repeats instructions of %i characters, and then fails',
    async (instructions) => {
      serve([{ to: 'a' }, { to: 'b' }], 'responses')
      a.restart(announcesThenFails('rate_limit_exceeded', 'x'.repeat(instructions)))
      b.restart(saysHello('responses'))
      const response = await gateway.post('/v1/responses', greeting('responses', 'any/model', true))
      expect([response.status, attemptsOf(response)]).toEqual([200, 'a=429,b=200'])
      expect(await response.text()).not.toContain('resp_failed')
    },
  )

  it('at most twice', async () => {
    serve([{ to: 'a' }, { to: 'b' }, { to: 'c' }, { to: 'a' }])
    for (const one of [a, b, c]) one.restart(fails(503))
    const response = await post()
    expect([response.status, attemptsOf(response)]).toEqual([503, 'a=503,b=503,c=503'])
    expect(a.calls.length).toBe(1)
  })
})

describe('no other backend is asked', () => {
  it.each([false, true])(
    'after a compressed answer of another dialect, and the error says so: stream %s',
    async (stream) => {
      serve([{ to: 'a' }, { to: 'b' }], 'messages')
      a.restart(compressed(200))
      const response = await post({ stream })
      expect([response.status, response.headers.get('content-encoding'), b.calls.length]).toEqual([502, null, 0])
      expect(await response.json()).toMatchObject({
        error: { code: 'upstream_failed', message: UNREADABLE.compressed },
      })
    },
  )

  it('after a wrong request whose error quotes what a vendor says of an account', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    const error = { type: 'invalid_request_error', message: 'messages.0: "Your credit balance is too low" is no role.' }
    a.restart(answersJson({ error }, { status: 400 }))
    const response = await post()
    expect([response.status, attemptsOf(response), await response.json()]).toEqual([400, null, { error }])
  })

  it('after a wrong request that is not about the model', async () => {
    serve([{ to: 'a' }, { to: 'b' }], 'responses')
    const error = { message: 'Previous response not found.', code: 'previous_response_not_found' }
    a.restart(answersJson({ error }, { status: 400 }))
    const response = await gateway.post('/v1/responses', greeting('responses', 'any/model', false))
    expect([response.status, await response.json()]).toEqual([400, { error }])
  })

  it.each([400, 413, 422])('after status %i, which passes unchanged', async (status) => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(fails(status))
    const response = await post()
    expect([response.status, servedBy(response), attemptsOf(response)]).toEqual([status, 'a', null])
    expect(await response.json()).toEqual({ error: { message: `status ${status}`, type: 'test' } })
    expect(b.calls.length).toBe(0)
  })

  it('when a backend accepts the call and is silent, and the caller gets 504', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(neverAnswers)
    expect(await outcomeOf(await post())).toBe('504 upstream_timeout')
    expect([a.calls.length, b.calls.length]).toEqual([1, 0])
  })

  it('when a backend accepts the call and closes the connection', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(({ socket }) => void socket.destroy())
    expect(await outcomeOf(await post())).toBe('502 upstream_failed')
    expect([a.calls.length, b.calls.length]).toEqual([1, 0])
  })

  it('after the first event of a stream', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(streams([CHUNK, 'data: {"error":{"message":"overloaded"}}\n\n']))
    const response = await post({ stream: true })
    expect([response.status, servedBy(response)]).toEqual([200, 'a'])
    expect(await response.text()).toContain('overloaded')
    expect(b.calls.length).toBe(0)
  })

  it('when a stream is silent before its first event: its head is sent when a keep-alive is due', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(streams([': processing\n\n'], { end: 'stalls' }))
    const response = await post({ stream: true })
    expect([response.status, servedBy(response)]).toEqual([200, 'a'])
    await expect(response.text()).rejects.toThrow()
    expect(b.calls.length).toBe(0)
  })
})

describe('when all backends fail', () => {
  it.each<[Dialect, object, number]>([
    ['chat', { error: { message: 'Slow down.', code: 429 } }, 429],
    ['responses', { error: { message: 'Full.', type: 'server_error', code: 'server_is_overloaded' } }, 503],
    ['messages', { type: 'error', error: { type: 'overloaded_error', message: 'Full.' } }, 529],
  ])(
    'an answer of 200 that is an error gets the status for it and passes otherwise unchanged, in the %s dialect: %j',
    async (dialect, error, status) => {
      const [backend] = serve([{ to: 'a' }], dialect)
      a.restart(answersJson(error))
      const path = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/vendorb/v1/messages' }[
        dialect
      ]
      const response = await gateway.post(path, greeting(dialect, 'any/model', false))
      expect([response.status, response.headers.get('x-svc-served-by')]).toEqual([status, backend])
      expect(await response.json()).toEqual(error)
      await expect.poll(() => gateway.events.at(-1)).toMatchObject({ kind: 'failed', result: { status } })
    },
  )

  it.each(['/v1/chat/completions', '/v1/responses'])(
    'an answer of 200 that is an error of an older vLLM gets the form and the status for it: %s',
    async (path) => {
      serve([{ to: 'a' }], 'chat')
      a.restart(answersJson({ object: 'error', message: 'Slow down.', type: 'RateLimitError', code: 429 }))
      const dialect = path === '/v1/responses' ? 'responses' : 'chat'
      const response = await gateway.post(path, greeting(dialect, 'any/model', false))
      expect(response.status).toBe(429)
      expect(await response.json()).toMatchObject({ error: { message: 'Slow down.' } })
    },
  )

  it.each([
    [{ type: 'error', error: { type: 'overloaded_error', message: 'Full.' } }, 503],
    [['no answer'], 502],
  ])(
    'an answer of 200 that cannot be translated is recorded with the status that the caller gets: %j',
    async (given, status) => {
      serve([{ to: 'a' }], 'messages')
      a.restart(answersJson(given))
      expect((await post()).status).toBe(status)
      await expect
        .poll(() => gateway.events.at(-1))
        .toMatchObject({ kind: 'failed', result: { outcome: 'whole', status } })
    },
  )

  it.each(['chat', 'messages'] as const)(
    'an answer of 200 that refuses the credential of the service is 502, and its text stays here: %s',
    async (dialect) => {
      serve([{ to: 'a' }], dialect)
      a.restart(answersJson({ error: { message: 'Incorrect API key sk-123', code: 'invalid_api_key' } }))
      const response = await post()
      expect(response.status).toBe(502)
      expect(await response.text()).not.toContain('sk-123')
      // With a status of 200, spending limits would count an estimate of what the backend may have billed.
      await expect
        .poll(() => gateway.events.at(-1))
        .toMatchObject({ kind: 'failed', result: { outcome: 'refused', status: 401 } })
    },
  )

  it.each([
    [400, 400],
    [403, 502],
    [404, 404],
    [429, 429],
    [502, 502],
    [520, 502],
  ])('a web page of status %i is an error of the dialect with status %i', async (status, shown) => {
    serve([{ to: 'a' }])
    const page = '<html>\r\n<head><title>Error</title></head></html>'
    a.restart(({ res }) => void res.writeHead(status, { 'content-type': 'text/html' }).end(page))
    const response = await post()
    expect([response.status, response.headers.get('content-type')]).toEqual([shown, 'application/json'])
    expect(await response.json()).toMatchObject({ error: { message: 'The backend answered with a web page.' } })
  })

  it('an answer whose error is null passes unchanged', async () => {
    serve([{ to: 'a' }])
    a.restart(answersJson({ error: null, ...COMPLETION }))
    expect(await (await post()).json()).toEqual({ error: null, ...COMPLETION })
  })

  it('the caller gets the most useful answer, with the earliest time to come back', async () => {
    serve([{ to: 'a' }, { to: 'b' }, { to: 'c' }])
    a.restart(fails(503, { 'retry-after': '2' }))
    b.restart(fails(429, { 'retry-after': '30', 'retry-after-ms': '30000' }))
    c.restart(fails(404))
    const response = await post()
    expect([response.status, servedBy(response), attemptsOf(response)]).toEqual([429, 'b', 'a=503,b=429,c=404'])
    expect(response.headers.get('retry-after')).toBe('2')
    // SDKs prefer it to the other header.
    expect(response.headers.get('retry-after-ms')).toBe(null)
    expect(await response.json()).toEqual({ error: { message: 'status 429', type: 'test' } })
  })

  it('a time in milliseconds counts among the times to come back', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(fails(503, { 'retry-after-ms': '1500' }))
    b.restart(fails(429, { 'retry-after': '30' }))
    expect((await post()).headers.get('retry-after')).toBe('2')
    a.restart(fails(503, { 'retry-after': '30' }))
    b.restart(fails(429, { 'retry-after-ms': '1500' }))
    const { headers } = await post()
    expect([headers.get('retry-after'), headers.get('retry-after-ms')]).toEqual(['2', '1500'])
  })

  it('a rate limit that names no time does not shorten the time of another one', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(fails(429))
    b.restart(fails(429, { 'retry-after': '30' }))
    expect((await post()).headers.get('retry-after')).toBe('30')
  })

  it('the end of the session is 401, whatever the backends before have answered', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(fails(429))
    b.restart(() => gateway.endSession())
    expect(await outcomeOf(await post())).toBe('401 unauthorized')
    expect(b.calls.length).toBe(1)
  })

  it('a refused credential of the service is 502, and its text stays here', async () => {
    serve([{ to: 'a' }, { to: 'dead' }])
    a.restart(answersJson({ error: { message: 'Incorrect API key sk-123' } }, { status: 401 }))
    const response = await post()
    expect([response.status, attemptsOf(response)]).toEqual([502, 'a=401,dead=unreachable'])
    const text = await response.text()
    expect(text).toContain('upstream_refused_credential')
    expect(text).not.toContain('sk-123')
  })

  it.each([
    '{"error":{"message":"Retry in 2.1s.","code":"rate_limit_exceeded"}}',
    '{"object":"error","message":"Retry in 2.1s.","type":"RateLimitError","code":429}',
  ])('an error at the start of the last stream is an error answer: %s', async (error) => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(fails(500))
    b.restart(streams([`data: ${error}\n\n`]))
    const response = await post({ stream: true })
    expect([response.status, servedBy(response), attemptsOf(response)]).toEqual([429, 'b', 'a=500,b=429'])
    expect(await response.json()).toMatchObject({ error: { message: 'Retry in 2.1s.' } })
    expect(response.headers.get('retry-after')).toBe('3')
  })

  it.each<[Dialect, Script]>([
    ['chat', streams(['data: {"error":{"message":"no","code":"context_length_exceeded"}}\n\n'])],
    ['chat', streams(['data: {"object":"error","message":"maximum context length is 8 tokens","code":400}\n\n'])],
    ['responses', announcesThenFails('context_length_exceeded')],
  ])(
    'an error at the start of a translated %s stream is an error answer, also of the only one',
    async (dialect, script) => {
      serve([{ to: 'a' }], dialect)
      a.restart(script)
      const response = await gateway.post('/vendorb/v1/messages', greeting('messages', 'any/model', true))
      expect([response.status, servedBy(response), attemptsOf(response)]).toEqual([400, 'a', null])
      expect(await response.json()).toMatchObject({ error: { message: expect.stringMatching(/^prompt is too long/) } })
      await expect.poll(() => gateway.events.at(-1)).toMatchObject({ kind: 'failed', result: { status: 400 } })
    },
  )

  it.each<[Dialect, object]>([
    ['chat', { code: 'upstream_timeout', type: 'api_error' }],
    ['responses', { code: 'server_error' }],
    ['messages', { type: 'timeout_error' }],
  ])('a translated %s stream whose backend falls silent ends with a timeout', async (client, wanted) => {
    const backend = client === 'messages' ? 'chat' : 'messages'
    serve([{ to: 'a' }], backend)
    const begins = [
      '{"type":"message_start","message":{}}',
      '{"type":"content_block_start","index":0,"content_block":{}}',
    ]
    const pieces = backend === 'chat' ? [CHUNK] : begins.map((data) => `data: ${data}\n\n`)
    a.restart(streams(pieces, { end: 'stalls' }))
    const { events } = await readEvents(await gateway.post(GATEWAY_PATHS[client], greeting(client, 'any/model', true)))
    const last = JSON.parse(events.at(-1)?.data ?? '{}') as { error?: object; response?: { error: object } }
    expect(last.error ?? last.response?.error).toMatchObject(wanted)
  })

  it('the call has one event with its attempts, and the log names them', async () => {
    const [first, second] = serve([{ to: 'a' }, { to: 'b' }])
    a.restart(fails(404))
    b.restart(fails(500))
    await (await post({}, { 'x-svc-session-id': 'run-1' })).text()
    await expect.poll(() => gateway.events.map(({ kind }) => kind)).toEqual(['started', 'failed'])
    expect(gateway.events.at(-1)).toMatchObject({
      call: { servedBy: first },
      result: {
        status: 404,
        attempts: [
          { backend: first, result: '404' },
          { backend: second, result: '500' },
        ],
      },
    })
    expect(gateway.log).toContainEqual({
      event: 'call.fell_back',
      fields: expect.objectContaining({ attempts: `${first}=404,${second}=500` }),
    })
    expect(gateway.log).toContainEqual({
      event: 'call.backend_refused',
      fields: expect.objectContaining({ servedBy: first, status: 404 }),
    })
  })

  it.each([402, 403, 404])(
    'the log names a backend that answered %d, also where it is the only one',
    async (status) => {
      const [only] = serve([{ to: 'a' }])
      a.restart(fails(status))
      expect((await post({})).status).toBe(status)
      await expect
        .poll(() => gateway.log)
        .toContainEqual({
          event: 'call.backend_refused',
          fields: expect.objectContaining({ servedBy: only, status }),
        })
    },
  )

  it.each<[string, Script, number, number]>([
    ['500', fails(500), 500, 500],
    ['a redirect', redirects, 308, 502],
  ])('the log names the only backend that answered %s', async (_what, answer, status, shown) => {
    const [only] = serve([{ to: 'a' }])
    a.restart(answer)
    expect((await post({})).status).toBe(shown)
    await expect
      .poll(() => gateway.log)
      .toContainEqual({
        event: 'call.upstream_failed',
        fields: expect.objectContaining({ servedBy: only, status }),
      })
  })
})

describe('a model without a list of backends', () => {
  it('passes a stream that begins with an error byte for byte', async () => {
    const bytes = 'data: {"error":{"message":"overloaded"}}\n\n'
    serve([])
    a.restart(streams([bytes]))
    const response = await post({ model: 'vendora/plain', stream: true })
    expect([response.status, attemptsOf(response), await response.text()]).toEqual([200, null, bytes])
  })

  it('does not show an error about the credential at the start of a stream', async () => {
    serve([])
    const refusal = '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key sk-123"}}'
    a.restart(streams([`event: error\ndata: ${refusal}\n\n`]))
    const response = await gateway.post('/vendorb/v1/messages', greeting('messages', 'vendorb/plain', true))
    const text = await response.text()
    expect(response.status).toBe(502)
    expect(text).toContain('upstream_refused_credential')
    expect(text).not.toContain('sk-123')
  })
})

describe('a session', () => {
  const turn = async (run: string) => servedBy(await post({}, { 'x-svc-session-id': run }))

  it('has all of its 100 turns at one of three equal backends', async () => {
    const equal = { rank: 0 }
    serve([
      { to: 'a', more: equal },
      { to: 'b', more: equal },
      { to: 'c', more: equal },
    ])
    const reached = new Set<string | null>()
    for (let at = 0; at < 100; at++) reached.add(await turn('run-1'))
    expect(reached.size).toBe(1)
    const others = await Promise.all(Array.from({ length: 30 }, (_, at) => turn(`other-${at}`)))
    expect(new Set(others).size).toBe(3)
  })

  it('stays with the backend that took over', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(fails(529))
    expect(await turn('run-2')).toBe('b')
    a.restart(answers)
    expect(await turn('run-2')).toBe('b')
    expect(await turn('run-3')).toBe('a')
  })

  it('comes back to its backend after an outage in which the backend for that time has served it', async () => {
    const names = serve([{ to: 'a' }, { to: 'b' }, { to: 'c', more: { when: 'offline' } }])
    const moveTo = (...urls: readonly URL[]) =>
      gateway.applyBackends(
        names.map((name, at) => ({
          ...{ name, dialects: ['chat'] as const, basePath: '/v1', credential: null },
          url: urls[at]?.href ?? null,
        })),
      )
    a.restart(fails(529))
    expect(await turn('run-4')).toBe('b')
    a.restart(answers)
    moveTo(deadUrl, deadUrl, c.url)
    expect(await turn('run-4')).toBe('c')
    moveTo(a.url, b.url, c.url)
    expect(await turn('run-4')).toBe('b')
  })
})

describe('a backend that fails repeatedly', () => {
  it('is asked last after its fifth failure', async () => {
    serve([{ to: 'a' }, { to: 'b' }])
    a.restart(fails(500))
    for (let at = 0; at < 5; at++) expect(attemptsOf(await post())).toBe('a=500,b=200')
    const response = await post()
    expect([servedBy(response), attemptsOf(response)]).toEqual(['b', null])
    b.restart(fails(500))
    a.restart(answers)
    expect(attemptsOf(await post())).toBe('b=500,a=200')
  })

  it('is asked last only for the model whose calls it limits', async () => {
    const names = serve([{ to: 'a' }, { to: 'b' }])
    const other = servedModel('any/other', { serve: names.map((name, rank) => serveEntry(name, 'small', { rank })) })
    gateway.known.team = { defaultModel: null, models: [...(gateway.known.team?.models ?? []), other] }
    a.restart((call) => (bodyOf(call)['model'] === 'large' ? fails(429) : answers)(call))
    for (let at = 0; at < 5; at++) expect(attemptsOf(await post())).toBe('a=429,b=200')
    expect(servedBy(await post())).toBe('b')
    expect(a.calls.length).toBe(5)
    expect(servedBy(await post({ model: 'any/other' }))).toBe('a')
  })
})

describe('a count of tokens', () => {
  it('passes unchanged to the backend that can be reached', async () => {
    serve([{ to: 'dead' }, { to: 'b' }], 'messages')
    b.restart(saysHello('messages'))
    await post()
    b.restart(answersJson({ input_tokens: 12 }))
    const response = await gateway.post('/v1/messages/count_tokens', { ...body, own_member: 1 })
    expect([servedBy(response), await response.json()]).toEqual(['b', { input_tokens: 12 }])
    expect(bodyOf(b.last())).toEqual({ ...body, model: 'large', own_member: 1 })
  })

  it('is estimated while the only backend, of another dialect, fails repeatedly', async () => {
    serve([{ to: 'a' }], 'responses')
    a.restart(fails(500))
    for (let at = 0; at < 5; at++) await post()
    a.restart(answersJson({ object: 'response.input_tokens', input_tokens: 12 }))
    const response = await gateway.post('/v1/messages/count_tokens', body)
    expect([response.headers.get('x-svc-estimated'), a.calls.length]).toEqual(['1', 0])
  })
})

describe('without a network', () => {
  const offline = { when: 'offline' } as const

  it('the backend for this time takes over, and later calls do not try the others', async () => {
    serve([{ to: 'dead' }, { to: 'b', more: offline }])
    const first = await post()
    expect([first.status, attemptsOf(first)]).toEqual([200, 'dead=unreachable,b=200'])
    const second = await post()
    expect([second.status, servedBy(second), attemptsOf(second)]).toEqual([200, 'b', null])
  })

  it('the first call already skips a local worker whose probe has failed', async () => {
    const backend = { name: 'b', dialects: ['chat'] as const, url: b.url.href, basePath: '/v1', credential: null }
    const serve = [serveEntry('local-engine', 'small'), serveEntry('b', 'large', { rank: 1, ...offline })]
    const models = [servedModel('any/model', { serve })]
    await using alone = await startGateway({ engine: deadUrl, backends: [backend], team: { models } })
    const response = await alone.post('/v1/chat/completions', body)
    expect([response.status, servedBy(response), attemptsOf(response)]).toEqual([200, 'b', null])
  })

  it('tokens are estimated while the backend that counts them cannot be reached', async () => {
    serve([{ to: 'dead' }], 'messages')
    await post()
    const response = await gateway.post('/v1/messages/count_tokens', body)
    expect([response.status, response.headers.get('x-svc-estimated')]).toEqual([200, '1'])
  })

  it('the call may be repeated where the local worker for this time is away too', async () => {
    await using alone = await startGateway({
      engine: deadUrl,
      backends: [{ name: 'dead', dialects: ['chat'], url: deadUrl.href, basePath: '/v1', credential: null }],
    })
    const entries = [serveEntry('dead', 'large'), serveEntry('local-engine', 'small', { rank: 1, ...offline })]
    alone.known.team = { defaultModel: null, models: [servedModel('any/model', { serve: entries })] }
    for (const attempts of ['dead=unreachable,local-engine=unreachable', 'local-engine=unreachable,dead=unreachable']) {
      const response = await alone.post('/v1/chat/completions', body)
      expect([await outcomeOf(response), attemptsOf(response)]).toEqual(['502 upstream_failed', attempts])
      expect(response.headers.get('x-should-retry')).toBe(null)
    }
  })

  it('it does not take over while another backend can be reached', async () => {
    serve([{ to: 'a' }, { to: 'b', more: offline }])
    a.restart(fails(503))
    expect((await post()).status).toBe(503)
    expect(b.calls.length).toBe(0)
  })
})

describe('200 calls in flight while their backend is killed', () => {
  it('are sent to one backend each, or again where nothing of them had arrived', async () => {
    await using first = await startUpstream(neverAnswers)
    const places = [first, b].map(({ url }, at) => ({ name: `killed-${at}`, url: url.href }))
    const serve = places.map(({ name }, rank) => serveEntry(name, 'large', { rank }))
    await using patient = await startGateway({
      backends: places.map((place) => ({ ...place, dialects: ['chat'] as const, basePath: '/v1', credential: null })),
      team: { models: [servedModel('any/model', { serve })] },
      idleTimeoutMs: 60_000,
    })
    const send = (at: number) => patient.post('/v1/chat/completions', { ...body, user: `call-${at}` })
    const before = Array.from({ length: 100 }, (_, at) => send(at))
    await expect.poll(() => first.calls.length, { timeout: 20_000 }).toBe(100)
    const after = Array.from({ length: 100 }, (_, at) => send(100 + at))
    await first[Symbol.asyncDispose]()
    const statuses = (await Promise.all([...before, ...after])).map(({ status }) => status)
    const idsAt = (upstream: TestUpstream) => upstream.calls.map((call) => String(bodyOf(call).user))
    const atFirst = new Set(idsAt(first))
    expect(idsAt(b).filter((id) => atFirst.has(id))).toEqual([])
    expect(new Set(idsAt(b)).size).toBe(idsAt(b).length)
    statuses.forEach((status, at) => expect(status).toBe(idsAt(b).includes(`call-${at}`) ? 200 : 502))
    // Those whose connection broke before the first backend had read them may have arrived there, as far as we know.
    expect(statuses.slice(0, 100)).toEqual(Array(100).fill(502))
    expect((await send(200)).status).toBe(200)
  })
})
