import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBrowser } from '../support/pages/browser.ts'
import type { TestBrowser } from '../support/pages/browser.ts'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { SCRIPT_PATH, startOtherSite } from '../support/pages/other-site.ts'
import type { OtherSite } from '../support/pages/other-site.ts'
import { mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { ask, bytes, json, outcomeOf, tally } from '../support/requests.ts'
import { bundleSdkPage } from '../support/pages/sdk-page-bundle.ts'
import { BASE_URL, startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService
let browser: TestBrowser

beforeAll(async () => {
  ;[service, browser] = await Promise.all([startService({ directory: persons.directory }), startBrowser()])
})
afterAll(() => Promise.all([service, browser].map((part) => part[Symbol.asyncDispose]())))

const CHANGING_ROUTES = [
  '/v1/auth/device/start',
  '/v1/auth/login/start',
  '/v1/auth/magic/consume',
  '/v1/auth/device/poll',
  '/v1/auth/token/refresh',
  '/v1/auth/logout',
  '/device',
]

describe('a request from a page of another origin', () => {
  it.each(CHANGING_ROUTES)('to %s is refused before its body is read, and sets no cookie', async (path) => {
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://LOCALHOST:8787' },
      { origin: 'http://localhost:8788' },
      { origin: 'https://localhost:8787' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ] as Record<string, string>[]) {
      const response = await service.fetch(path, bytes('{ invalid JSON', 'application/json', headers))
      expect(await outcomeOf(response), JSON.stringify(headers)).toBe('403 forbidden')
      expect(response.headers.getSetCookie()).toEqual([])
    }
  })

  it('is accepted when its origin is our own', async () => {
    const email = persons.next()
    const response = await service.fetch(
      '/v1/auth/device/start',
      json({ email, deviceId: 'x' }, { origin: BASE_URL, 'sec-fetch-site': 'same-origin' }),
    )
    expect(response.status).toBe(202)
  })

  it('gets no permission from a preflight', async () => {
    for (const path of CHANGING_ROUTES) {
      const response = await service.fetch(path, {
        method: 'OPTIONS',
        headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
      })
      const allowed = [...response.headers.keys()].filter((name) => name.startsWith('access-control-'))
      expect(allowed, path).toEqual([])
    }
  })

  it('changes nothing when a browser with the visitor’s cookies submits a form', async () => {
    const email = persons.next()
    const cookie = await signInBrowser(service, email)
    const { deviceCode } = await service.startLogin(email)
    const token = mailTokenOf(service, email)
    await using evil = await startOtherSite(formsPage(service.port, token))
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

describe('CORS without SVC_ALLOWED_ORIGINS', () => {
  it('sends no CORS header, whatever the origin', async () => {
    const requests = [{}, { origin: BASE_URL }, { origin: 'https://evil.example' }] as Record<string, string>[]
    for (const headers of requests) {
      for (const path of ['/healthz', '/v1/devices', '/.well-known/jwks.json']) {
        const { headers: got } = await service.fetch(path, { headers })
        expect([corsOf(got), got.get('vary')], path).toEqual([{}, null])
      }
    }
  })
})

describe('CORS with SVC_ALLOWED_ORIGINS', () => {
  let allowed: OtherSite
  let evil: OtherSite
  let engine: TestEngine
  let corsService: TestService

  beforeAll(async () => {
    const script = await bundleSdkPage()
    ;[allowed, evil, engine] = await Promise.all([
      startOtherSite('<title>allowed</title>', script),
      startOtherSite('<title>evil</title>', script),
      startEngine(),
    ])
    const env = {
      SVC_ALLOWED_ORIGINS: `https://app.example.com,${allowed.origin}`,
      SVC_LOCAL_ENGINE_URL: engine.url.href,
    }
    corsService = await startService({ directory: persons.directory, env })
  })
  afterAll(() => Promise.all([allowed, evil, corsService, engine].map((part) => part[Symbol.asyncDispose]())))

  const ORIGIN = 'https://app.example.com'
  const READABLE = {
    'access-control-allow-origin': ORIGIN,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'x-request-id, retry-after',
  }
  const preflight = (path: string, origin: string, method = 'POST') =>
    corsService.fetch(path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': method } })

  it.each([
    ['/v1/auth/device/poll', 'POST'],
    ['/device', 'GET, POST'],
    ['/v1/auth/passkeys/some-id', 'PATCH, DELETE'],
  ])('answers a preflight to %s with the methods %s and the allowed headers', async (path, methods) => {
    const response = await preflight(path, ORIGIN)
    expect(response.status).toBe(204)
    expect(await response.text()).toBe('')
    expect(corsOf(response.headers)).toEqual({
      ...READABLE,
      'access-control-allow-methods': methods,
      'access-control-allow-headers': 'authorization, content-type, last-event-id, x-svc-use-cookies',
      'access-control-max-age': '600',
    })
    expect(response.headers.get('vary')).toBe('Origin')
  })

  it('refuses OPTIONS that is no preflight as a method that there is not', async () => {
    const response = await corsService.fetch('/device', { method: 'OPTIONS', headers: { origin: ORIGIN } })
    expect([response.status, corsOf(response.headers)]).toEqual([405, READABLE])
  })

  it('lets an allowed origin read answers and errors, which vary by origin', async () => {
    for (const [path, init] of [
      ['/.well-known/jwks.json', {}],
      ['/v1/devices', {}],
      ['/device', { method: 'POST', body: '{' }],
      ['/v1/auth/device/start', { method: 'PUT' }],
    ] as [string, RequestInit][]) {
      const { headers } = await corsService.fetch(path, { ...init, headers: { origin: ORIGIN } })
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
  ])('allows nothing to %s', async (origin) => {
    for (const response of [
      await preflight('/v1/auth/device/poll', origin),
      await corsService.fetch('/.well-known/jwks.json', { headers: { origin } }),
    ]) {
      expect([corsOf(response.headers), response.headers.get('vary')]).toEqual([{}, 'Origin'])
    }
    expect((await preflight('/device', origin)).status).toBe(405)
  })

  it('lets only pages of an allowed origin start a login, in a browser', async () => {
    const email = persons.next()
    const callFrom = async (site: OtherSite) => {
      const page = await browser.newPage({ width: 360, scheme: 'light' })
      await page.goto(site.origin)
      return page.evaluate(startFromPage, { base: `http://localhost:${corsService.port}`, email })
    }
    expect(await callFrom(allowed)).toMatch(/^202 req_[\w-]+ [A-Z]{4}-[A-Z]{4}$/)
    expect(await callFrom(evil)).toBe('TypeError')
  })

  it('lets only pages of an allowed origin call models with the vendors’ packages, in a browser', async () => {
    const given = {
      origin: `http://localhost:${corsService.port}`,
      token: (await corsService.signIn(persons.next())).accessToken,
    }
    const callFrom = async (site: OtherSite) => {
      const page = await browser.newPage({ width: 360, scheme: 'light' })
      await page.goto(site.origin)
      await page.addScriptTag({ url: SCRIPT_PATH })
      return page.evaluate((to) => sdkPage.callAll(to), given)
    }
    expect(await callFrom(allowed)).toEqual({
      'openai: a stream': 'Hello! by local-engine as req_',
      'openai: its helper for streams': 'Hello!',
      'openai: models': 'svc/fast',
      'openai: a refusal': '403 retry false as req_',
      'anthropic: a stream': 'Hello! as req_',
      'anthropic: models, by key': 'svc/fast',
      'ours: a call of a session': 'true as req_',
    })
    const refused = Object.values(await callFrom(evil))
    expect(tally(refused)).toEqual({ 'not reached': 7 })
  })
})

describe('host names and addresses of a request', () => {
  it('do not change the links in emails and answers', async () => {
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

  it('are not taken from X-Forwarded-For without a trusted proxy', async () => {
    const email = persons.next()
    await service.fetch('/v1/auth/device/start', json({ email, deviceId: 'x' }, { 'x-forwarded-for': '203.0.113.9' }))
    expect(service.mailbox.newest(email).text).toContain('127.0.0.1')
    expect(service.mailbox.newest(email).text).not.toContain('203.0.113.9')
  })

  it('in a query cause no redirect', async () => {
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

/** Runs in a page: starts a login and returns what the page can read of the answer. */
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
