import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient, memoryTokenStore, openSession, unwrap } from '../../generated/sdk/index.js'
import { fileTokenStore } from '../../generated/sdk/node.js'
import { closeHttpServer, listenOnLoopback } from '../support/loopback.ts'
import { people } from '../support/people.ts'
import { atOnce } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { withDeadline } from '../support/wait.ts'

const run = promisify(execFile)
const team = people()
let service: TestService
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-sdk-'))
  service = await startService({ directory: team.directory })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

const refreshes = () => routes('/v1/auth/token/refresh')
const routes = (route: string) => service.log.filter(({ fields }) => 'route' in fields && fields.route === route).length

async function signedIn() {
  const tokens = await service.signIn(team.next())
  return memoryTokenStore(tokens)
}

/** Tokens of no service. */
const KEPT = {
  account: 'a@example.com',
  team: '@a/b',
  deviceId: 'd',
  accessToken: 'old',
  refreshToken: 'r',
  expiresAt: '2026-11-21T09:15:00Z',
}

/** A client whose access token is refused, and whose refresh gets this answer. */
const clientWithRefresh = (tokens: ReturnType<typeof memoryTokenStore>, answer: () => Response) =>
  createClient({
    baseUrl: 'http://svc.test',
    tokens,
    fetch: async ({ url }) => (url.endsWith('/refresh') ? answer() : Response.json({}, { status: 401 })),
  })

const clientOf = (tokens: ReturnType<typeof memoryTokenStore>) =>
  createClient({
    baseUrl: service.origin,
    tokens,
    fetch: (request) => service.fetch(new URL(request.url).pathname, request),
  })

describe('a client with a token store', () => {
  it('refreshes once when 20 requests find the token expired at the same time', async () => {
    const tokens = await signedIn()
    const client = clientOf(tokens)
    service.clock.advance({ seconds: 901 })
    const before = refreshes()
    const answers = await atOnce(20, () => unwrap(client.GET('/v1/models')))
    expect(answers.map(({ object }) => object)).toEqual(Array.from({ length: 20 }, () => 'list'))
    expect(refreshes() - before).toBe(1)
  })

  it('sends the body again after a refresh', async () => {
    const tokens = await signedIn()
    service.clock.advance({ seconds: 901 })
    const { error, response } = await clientOf(tokens).POST('/device', { body: { userCode: 'ZZZZ-ZZZZ' } })
    expect([response.status, error?.error.code]).toEqual([404, 'not_found'])
  })

  it('does not refresh again when the stored token is new', async () => {
    const tokens = await signedIn()
    service.clock.advance({ seconds: 901 })
    await unwrap(clientOf(tokens).GET('/v1/models'))
    const before = refreshes()
    await unwrap(clientOf(tokens).GET('/v1/models'))
    expect(refreshes() - before).toBe(0)
  })

  it('removes the tokens of an ended session and rejects with NotSignedInError', async () => {
    const tokens = await signedIn()
    const client = clientOf(tokens)
    await unwrap(client.POST('/v1/auth/logout'))
    service.clock.advance({ seconds: 901 })
    await expect(unwrap(client.GET('/v1/models'))).rejects.toMatchObject({
      name: 'NotSignedInError',
      code: 'unauthorized',
      status: 401,
    })
    expect(await tokens.load()).toBeNull()
  })

  it.each(['unauthorized', 'expired'])(
    'gives every caller its 401 when the refresh is answered with %s',
    async (code) => {
      const tokens = memoryTokenStore(KEPT)
      const client = clientWithRefresh(tokens, () => Response.json({ error: { code } }, { status: 401 }))
      const answers = await Promise.all([client.GET('/v1/models'), client.GET('/v1/models')])
      expect(answers.map(({ response }) => response.status)).toEqual([401, 401])
      expect(await tokens.load()).toBeNull()
    },
  )

  it('sends a request as it is, once, where no tokens are stored', async () => {
    const sent: Request[] = []
    const fetch = async (request: Request) => {
      sent.push(request)
      return Response.json({}, { status: 401 })
    }
    await createClient({ baseUrl: 'http://svc.test', tokens: memoryTokenStore(), fetch }).GET('/v1/models')
    expect(sent.map(({ url, headers }) => [url, headers.get('authorization')])).toEqual([
      ['http://svc.test/v1/models', null],
    ])
  })

  it('keeps the tokens when the refresh is answered with 503, and refreshes them at the next call', async () => {
    const tokens = memoryTokenStore(KEPT)
    const down = Response.json({ error: { code: 'service_unavailable', message: 'down' } }, { status: 503 })
    const answers = [down, Response.json({ ...KEPT, accessToken: 'new' })]
    const client = clientWithRefresh(tokens, () => answers.shift() ?? down)
    await expect(client.GET('/v1/models')).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(await tokens.load()).toEqual(KEPT)
    await client.GET('/v1/models')
    expect((await tokens.load())?.accessToken).toBe('new')
  })

  it('does not refresh while the tokens cannot be stored', async () => {
    const asked: string[] = []
    const client = createClient({
      baseUrl: 'http://svc.test',
      tokens: { ...memoryTokenStore(KEPT), save: () => Promise.reject(new Error('The disk is full.')) },
      async fetch({ url }) {
        asked.push(new URL(url).pathname)
        return Response.json({}, { status: 401 })
      },
    })
    await expect(client.GET('/v1/models')).rejects.toThrow('The disk is full.')
    expect(asked).toEqual(['/v1/models'])
  })

  it('repeats a refresh whose answer was lost', async () => {
    const tokens = await signedIn()
    let lost = 0
    const client = createClient({
      baseUrl: service.origin,
      tokens,
      async fetch(request) {
        const response = await fetch(request)
        if (!request.url.endsWith('/refresh') || lost++) return response
        throw new TypeError('fetch failed')
      },
    })
    service.clock.advance({ seconds: 901 })
    expect((await unwrap(client.GET('/v1/models'))).object).toBe('list')
    expect(lost).toBe(2)
  })

  it('repeats a refresh whose answer broke off', async () => {
    const tokens = await signedIn()
    let refreshed = 0
    const client = createClient({
      baseUrl: service.origin,
      tokens,
      async fetch(request) {
        const response = await fetch(request)
        if (!request.url.endsWith('/refresh') || refreshed++) return response
        await response.body?.cancel()
        const broken = new ReadableStream({ start: (controller) => controller.error(new TypeError('terminated')) })
        return new Response(broken, { status: 200 })
      },
    })
    service.clock.advance({ seconds: 901 })
    expect((await unwrap(client.GET('/v1/models'))).object).toBe('list')
    expect(refreshed).toBe(2)
  })

  it('keeps the tokens when a proxy answers the refresh with a page', async () => {
    const tokens = memoryTokenStore(KEPT)
    const client = clientWithRefresh(tokens, () => new Response('<p>Sign in to this network</p>'))
    await expect(client.GET('/v1/models')).rejects.toMatchObject({ code: 'unexpected_answer', status: 200 })
    expect(await tokens.load()).toEqual(KEPT)
  })

  it('follows no redirect of a refresh, and none of a call', async () => {
    const asked: string[] = []
    const other = createServer(({ url }, res) => {
      asked.push(String(url))
      res.end('{}')
    })
    const location = `http://127.0.0.1:${await listenOnLoopback(other)}`
    const service = createServer(({ url = '' }, res) =>
      url === '/v1/models' ? res.writeHead(401).end('{}') : res.writeHead(308, { location: location + url }).end(),
    )
    try {
      const tokens = memoryTokenStore(KEPT)
      const client = createClient({ baseUrl: `http://127.0.0.1:${await listenOnLoopback(service)}`, tokens })
      await expect(client.GET('/v1/models')).rejects.toThrow()
      await expect(client.POST('/v1/chat/completions', { body: { messages: [] } })).rejects.toThrow()
      expect(asked).toEqual([])
      expect(await tokens.load()).toEqual(KEPT)
    } finally {
      await Promise.all([other, service].map(closeHttpServer))
    }
  })

  it('is told at once when a refresh has to wait long', async () => {
    const tokens = memoryTokenStore(KEPT)
    const client = clientWithRefresh(tokens, () =>
      Response.json({ error: { code: 'rate_limited' } }, { status: 429, headers: { 'retry-after': '30' } }),
    )
    await expect(client.GET('/v1/models')).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 30 })
    expect(await tokens.load()).toEqual(KEPT)
  })

  it('cancels a request at once during a refresh, which goes on for the others', async () => {
    const tokens = memoryTokenStore(KEPT)
    const refresh = { asked: Promise.withResolvers<undefined>(), answer: Promise.withResolvers<Response>() }
    const client = createClient({
      baseUrl: 'http://svc.test',
      tokens,
      fetch: ({ url, headers }) => {
        if (!url.endsWith('/refresh')) return Promise.resolve(answerTo(headers.get('authorization')))
        refresh.asked.resolve(undefined)
        return refresh.answer.promise
      },
    })
    const answerTo = (authorization: string | null) =>
      authorization === 'Bearer new' ? Response.json({ object: 'list', data: [] }) : Response.json({}, { status: 401 })
    const controller = new AbortController()
    const cancelled = client.GET('/v1/models', { signal: controller.signal })
    const other = client.GET('/v1/models')
    await refresh.asked.promise
    controller.abort()
    await expect(withDeadline('the cancelled request to end', cancelled)).rejects.toMatchObject({ name: 'AbortError' })
    refresh.answer.resolve(Response.json({ ...KEPT, accessToken: 'new' }))
    expect((await other).response.status).toBe(200)
    expect((await tokens.load())?.accessToken).toBe('new')
  })

  it('refreshes at the control plane when the gateway has an address of its own', async () => {
    const asked: string[] = []
    const client = createClient({
      baseUrl: 'http://gateway.test',
      controlPlaneUrl: 'http://svc.test',
      tokens: memoryTokenStore(KEPT),
      async fetch({ url }) {
        asked.push(url)
        if (url.endsWith('/refresh')) return Response.json({ ...KEPT, accessToken: 'new' })
        return asked.length === 1 ? Response.json({}, { status: 401 }) : Response.json({ object: 'list', data: [] })
      },
    })
    await unwrap(client.GET('/v1/models'))
    const [first, refresh, again] = asked
    expect([first, again]).toEqual(['http://gateway.test/v1/models', 'http://gateway.test/v1/models'])
    expect(refresh).toBe('http://svc.test/v1/auth/token/refresh')
  })

  it('does not refresh after a 401 about a code in the body', async () => {
    const before = refreshes()
    const { response } = await clientOf(await signedIn()).POST('/v1/auth/device/poll', { body: { deviceCode: 'x' } })
    expect([response.status, refreshes() - before]).toEqual([401, 0])
  })
})

describe('the base URL of a client', () => {
  const REFUSED = [
    'svc.example.com',
    'localhost:8787',
    '',
    'http://',
    'http://ada:secret@svc.test',
    'http://svc.test?a=1',
  ]

  it.each(REFUSED)('is refused with a message that says what to give: "%s"', (url) => {
    const message = /^(baseUrl|controlPlaneUrl) is not the URL of a deployment\. Give one such as https:(?!.*secret)/
    expect(() => createClient({ baseUrl: url })).toThrow(message)
    expect(() => createClient({ baseUrl: 'http://svc.test', controlPlaneUrl: url })).toThrow(message)
    expect(() => openSession({ baseUrl: url, tokens: memoryTokenStore() })).toThrow(message)
  })

  it('may have a port, a path and a slash at the end', () => {
    for (const baseUrl of ['http://[::1]:8787', 'https://svc.test/a/'])
      expect(() => createClient({ baseUrl })).not.toThrow()
  })
})

describe('a client with an access token', () => {
  it.each(['secret\nsecret', 'secret\u2026', 'secret secret'])('refuses %j without showing it', async (accessToken) => {
    const call = createClient({ baseUrl: 'http://svc.test', accessToken }).GET('/v1/models')
    await expect(call).rejects.toThrow(new TypeError('The access token has a character that no access token has.'))
  })

  it.each(['token\n', '\ntoken', '\u2003token\v'])('leaves out the white space around %j', async (accessToken) => {
    const sent: (string | null)[] = []
    const fetch = async ({ headers }: Request) => {
      sent.push(headers.get('authorization'))
      return Response.json({ object: 'list', data: [] })
    }
    await createClient({ baseUrl: 'http://svc.test', accessToken, fetch }).GET('/v1/models')
    expect(sent).toEqual(['Bearer token'])
  })
})

describe('a client with an access token function', () => {
  it('cancels a request at once while the function runs', async () => {
    const client = createClient({ baseUrl: 'http://svc.test', accessToken: () => new Promise<string>(() => {}) })
    const controller = new AbortController()
    const cancelled = client.GET('/v1/models', { signal: controller.signal })
    controller.abort()
    await expect(withDeadline('the cancelled request to end', cancelled)).rejects.toMatchObject({ name: 'AbortError' })
  })
})

describe('a file store', () => {
  it('refreshes once when three processes that share it find the token expired', async () => {
    const file = path.join(folder, 'shared.json')
    await fileTokenStore(file).save(await service.signIn(team.next()))
    service.clock.advance({ seconds: 901 })
    const before = refreshes()
    const sdk = new URL('../../generated/sdk/', import.meta.url)
    const script = `
      import { createClient, unwrap } from '${new URL('index.js', sdk)}'
      import { fileTokenStore } from '${new URL('node.js', sdk)}'
      const client = createClient({ baseUrl: '${service.origin}', tokens: fileTokenStore('${file}') })
      const answers = await Promise.all(Array.from({ length: 5 }, () => unwrap(client.GET('/v1/models'))))
      process.stdout.write(String(answers.length))`
    const outputs = await atOnce(3, () => run(process.execPath, ['--input-type=module', '-e', script]))
    expect(outputs.map(({ stdout }) => stdout.trim())).toEqual(['5', '5', '5'])
    expect(refreshes() - before).toBe(1)
  })
})
