import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import type { TestBrowser } from '../support/browser.ts'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { ask, bytes, json, outcomeOf, tally } from '../support/requests.ts'
import { bundleSdkPage } from '../support/sdk-page-bundle.ts'
import { BASE_URL, startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService
let browser: TestBrowser

beforeAll(async () => {
  ;[service, browser] = await Promise.all([startService({ directory: persons.directory }), startBrowser()])
})
afterAll(() => Promise.all([service, browser].map((part) => part[Symbol.asyncDispose]())))

const CHANGES = [
  '/v1/auth/device/start',
  '/v1/auth/login/start',
  '/v1/auth/magic/consume',
  '/v1/auth/device/poll',
  '/v1/auth/token/refresh',
  '/v1/auth/logout',
  '/device',
]

describe('a request that another site’s page makes', () => {
  it.each(CHANGES)('to %s is refused before anything is read or set', async (path) => {
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://LOCALHOST:8787' },
      { origin: 'http://localhost:8788' },
      { origin: 'https://localhost:8787' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ] as Record<string, string>[]) {
      const response = await service.fetch(path, bytes('{ not even JSON', 'application/json', headers))
      expect(await outcomeOf(response), JSON.stringify(headers)).toBe('403 forbidden')
      expect(response.headers.getSetCookie()).toEqual([])
    }
  })

  it('from our own origin passes', async () => {
    const email = persons.next()
    const response = await service.fetch(
      '/v1/auth/device/start',
      json({ email, deviceId: 'x' }, { origin: BASE_URL, 'sec-fetch-site': 'same-origin' }),
    )
    expect(response.status).toBe(202)
  })

  it('is not allowed by a preflight', async () => {
    for (const path of CHANGES) {
      const response = await service.fetch(path, {
        method: 'OPTIONS',
        headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
      })
      const allowed = [...response.headers.keys()].filter((name) => name.startsWith('access-control-'))
      expect(allowed, path).toEqual([])
    }
  })

  it('by a form, with the visitor’s cookies around, changes nothing (in a browser)', async () => {
    const email = persons.next()
    const cookie = await signInBrowser(service, email)
    const { deviceCode } = await service.startLogin(email)
    const token = mailTokenOf(service, email)
    await using evil = await serve(formsPage(service.port, token))
    const [name = '', value = ''] = cookie.split('=')

    for (const id of ['consume', 'logout', 'device', 'refresh']) {
      const page = await browser.newPage({ width: 360, scheme: 'light' })
      await page.context().addCookies([{ name, value, domain: 'localhost', path: '/', sameSite: 'Lax' }])
      await page.goto(evil.origin)
      const [response] = await Promise.all([
        page.waitForResponse((answer) => answer.request().method() === 'POST'),
        page.locator(`#${id}`).evaluate((form: HTMLFormElement) => form.submit()),
      ])
      expect(response.status(), id).toBe(403)
      expect(await response.headerValue('set-cookie'), id).toBeNull()
    }
    const poll = await service.fetch('/v1/auth/device/poll', json({ deviceCode }))
    expect(await outcomeOf(poll)).toBe('428 authorization_pending')
    expect((await service.fetch('/device', { headers: { cookie } })).status).toBe(200)
  })
})

describe('without allowed origins', () => {
  it('no answer has any header of CORS, whatever the origin', async () => {
    const asked = [{}, { origin: BASE_URL }, { origin: 'https://evil.example' }] as Record<string, string>[]
    for (const headers of asked) {
      for (const path of ['/healthz', '/v1/devices', '/.well-known/jwks.json']) {
        const { headers: got } = await service.fetch(path, { headers })
        expect([corsOf(got), got.get('vary')], path).toEqual([{}, null])
      }
    }
  })
})

describe('with allowed origins', () => {
  let friend: Site
  let evil: Site
  let engine: TestEngine
  let open: TestService

  beforeAll(async () => {
    const script = await bundleSdkPage()
    ;[friend, evil, engine] = await Promise.all([
      serve('<title>friend</title>', script),
      serve('<title>evil</title>', script),
      startEngine(),
    ])
    const env = {
      SVC_ALLOWED_ORIGINS: `https://app.example.com,${friend.origin}`,
      SVC_LOCAL_ENGINE_URL: engine.url.href,
    }
    open = await startService({ directory: persons.directory, env })
  })
  afterAll(() => Promise.all([friend, evil, open, engine].map((part) => part[Symbol.asyncDispose]())))

  const ORIGIN = 'https://app.example.com'
  const READABLE = {
    'access-control-allow-origin': ORIGIN,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'x-request-id, retry-after',
  }
  const preflight = (path: string, origin: string, method = 'POST') =>
    open.fetch(path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': method } })

  it.each([
    ['/v1/auth/device/poll', 'POST'],
    ['/device', 'GET, POST'],
    ['/v1/auth/passkeys/some-id', 'PATCH, DELETE'],
  ])('a preflight to %s names what may be sent: %s', async (path, methods) => {
    const response = await preflight(path, ORIGIN)
    expect(response.status).toBe(204)
    expect(await response.text()).toBe('')
    expect(corsOf(response.headers)).toEqual({
      ...READABLE,
      'access-control-allow-methods': methods,
      'access-control-allow-headers': 'authorization, content-type, x-svc-use-cookies',
      'access-control-max-age': '600',
    })
    expect(response.headers.get('vary')).toBe('Origin')
  })

  it('answers and errors can be read, and depend on the origin', async () => {
    for (const [path, init] of [
      ['/.well-known/jwks.json', {}],
      ['/v1/devices', {}],
      ['/device', { method: 'POST', body: '{' }],
      ['/v1/auth/device/start', { method: 'PUT' }],
    ] as [string, RequestInit][]) {
      const { headers } = await open.fetch(path, { ...init, headers: { origin: ORIGIN } })
      expect([corsOf(headers), headers.get('vary')], path).toEqual([READABLE, 'Origin'])
    }
  })

  it.each([
    'https://evil.example',
    'null',
    'https://app.example.com.evil.example',
    'https://APP.example.com',
    'https://app.example.com:443',
    'http://app.example.com',
    'https://x.app.example.com',
    `${ORIGIN}, https://evil.example`,
    BASE_URL,
  ])('nothing is allowed to %s', async (origin) => {
    for (const response of [
      await preflight('/v1/auth/device/poll', origin),
      await open.fetch('/.well-known/jwks.json', { headers: { origin } }),
    ]) {
      expect([corsOf(response.headers), response.headers.get('vary')]).toEqual([{}, 'Origin'])
    }
    expect((await preflight('/device', origin)).status).toBe(405)
  })

  it('their pages can call and read, and pages of others cannot (in a browser)', async () => {
    const email = persons.next()
    const calls = async (site: Site) => {
      const page = await browser.newPage({ width: 360, scheme: 'light' })
      await page.goto(site.origin)
      return page.evaluate(startFromPage, { base: `http://localhost:${open.port}`, email })
    }
    expect(await calls(friend)).toMatch(/^202 req_[\w-]+ [A-Z]{4}-[A-Z]{4}$/)
    expect(await calls(evil)).toBe('TypeError')
  })

  it('their pages can call models with the vendors’ packages, and pages of others cannot (in a browser)', async () => {
    const given = { origin: `http://localhost:${open.port}`, token: (await open.signIn(persons.next())).accessToken }
    const calls = async (site: Site) => {
      const page = await browser.newPage({ width: 360, scheme: 'light' })
      await page.goto(site.origin)
      await page.addScriptTag({ url: SCRIPT })
      return page.evaluate((to) => sdkPage.callAll(to), given)
    }
    expect(await calls(friend)).toEqual({
      'openai: a stream': 'Hello! by local-engine as req_',
      'openai: its helper for streams': 'Hello!',
      'openai: models': 'svc/fast',
      'openai: a refusal': '403 retry false as req_',
      'anthropic: a stream': 'Hello! as req_',
      'anthropic: models, by key': 'svc/fast',
      'ours: a call of a session': 'true as req_',
    })
    const refused = Object.values(await calls(evil))
    expect(tally(refused)).toEqual({ 'not reached': 7 })
  })
})

describe('names of hosts', () => {
  it('in mails and answers are ours, whatever the request says', async () => {
    const email = persons.next()
    const body = JSON.stringify({ email, deviceId: 'x' })
    const headers = ['Host', 'evil.example', 'X-Forwarded-Host', 'evil.example', 'Forwarded', 'host=evil.example']
    const answer = await ask(service.port, {
      method: 'POST',
      path: '/v1/auth/device/start',
      headers: [...headers, 'X-Forwarded-Proto', 'https', 'Content-Type', 'application/json'],
      body,
    })
    expect(answer.status).toBe(202)
    expect(answer.body).not.toContain('evil')
    expect(answer.body).toContain(`${BASE_URL}/v1/auth/magic/consume?token=`)
    expect(service.mailbox.newest(email).raw).not.toContain('evil')
  })

  it('are not believed from X-Forwarded-For either', async () => {
    const email = persons.next()
    await service.fetch('/v1/auth/device/start', json({ email, deviceId: 'x' }, { 'x-forwarded-for': '203.0.113.9' }))
    expect(service.mailbox.newest(email).text).toContain('127.0.0.1')
    expect(service.mailbox.newest(email).text).not.toContain('203.0.113.9')
  })

  it('in a query lead nowhere', async () => {
    for (const path of ['/v1/auth/magic/consume', '/device', '/healthz', '/.well-known/jwks.json', '/']) {
      const query = '?next=https://evil.example&callbackURL=//evil.example&redirect_uri=https:evil.example'
      const answer = await ask(service.port, { path: path + query })
      expect(answer.headers.location, path).toBeUndefined()
      expect(answer.body, path).not.toContain('evil.example')
    }
  })
})

function corsOf(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')))
}

/** Runs in a page: what it can read of the start of a login. */
async function startFromPage({ base, email }: { base: string; email: string }): Promise<string> {
  return fetch(`${base}/v1/auth/device/start`, {
    method: 'POST',
    credentials: 'include',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, deviceId: 'page' }),
  }).then(
    async (answer) => {
      const { userCode } = (await answer.json()) as { userCode: string }
      return `${answer.status} ${answer.headers.get('x-request-id')} ${userCode}`
    },
    (error: unknown) => (error instanceof Error ? error.name : 'failed'),
  )
}

function formsPage(port: number, token: string): string {
  const form = (id: string, path: string, fields: Record<string, string>) => {
    const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`)
    return `<form id="${id}" method="post" action="http://localhost:${port}${path}">${inputs.join('')}</form>`
  }
  return [
    form('consume', '/v1/auth/magic/consume', { token }),
    form('logout', '/v1/auth/logout', {}),
    form('device', '/device', { userCode: 'BCDF-GHJK' }),
    form('refresh', '/v1/auth/token/refresh', {}),
  ].join('')
}

type Site = AsyncDisposable & { readonly origin: string }

const SCRIPT = '/script.js'

/** A page of another site, and a script there: 127.0.0.1 is not localhost. */
async function serve(page: string, script = ''): Promise<Site> {
  const server = createServer((req, res) =>
    req.url === SCRIPT
      ? res.setHeader('content-type', 'text/javascript').end(script)
      : res.setHeader('content-type', 'text/html').end(page),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
