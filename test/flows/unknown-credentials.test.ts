import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contractOf, readContract, routesOf } from '../../src/http/contract.ts'
import { mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { form, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const LIMIT = 5
const ORIGIN = 'https://app.example.com'
const persons = people()
let service: TestService
let networks = 0

beforeAll(async () => {
  const env = {
    SVC_TRUST_PROXY: 'loopback',
    SVC_LIMIT_STARTS_PER_IP: String(LIMIT),
    SVC_ALLOWED_ORIGINS: ORIGIN,
  }
  service = await startService({ directory: persons.directory, env })
})
afterAll(() => service[Symbol.asyncDispose]())

/** The header of a client on a network of its own. */
const newNetwork = () => ({ 'x-forwarded-for': `203.0.113.${++networks}` })
const random = (prefix: string) => prefix + randomBytes(32).toString('base64url')
const refreshToken = () => `svcr_${Buffer.concat([Buffer.from([1, 1]), randomBytes(52)]).toString('base64url')}`
/** The answer of an authenticator to a challenge that this service did not make. */
const CREDENTIAL = {
  id: 'AAAA',
  rawId: 'AAAA',
  type: 'public-key',
  response: { clientDataJSON: 'eyJjaGFsbGVuZ2UiOiJBQUFBIn0', authenticatorData: 'AAAA', signature: 'AAAA' },
}
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

type Send = (network: Record<string, string>) => Promise<Response>

const UNKNOWN: readonly (readonly [string, string, Send])[] = [
  [
    'links that are opened',
    '401 unauthorized',
    (headers) => service.fetch(`/v1/auth/magic/consume?token=${random('svcm_')}`, { headers }),
  ],
  [
    'links that are used',
    '401 unauthorized',
    (headers) => service.fetch('/v1/auth/magic/consume', json({ token: random('svcm_') }, headers)),
  ],
  [
    'sign-in links that are opened',
    '401 unauthorized',
    (headers) => service.fetch(`/sign-in/email?token=${random('svci_')}`, { headers }),
  ],
  [
    'sign-in links that are used',
    '401 unauthorized',
    (headers) => service.fetch('/sign-in/email', { ...form({ token: random('svci_') }, headers), headers }),
  ],
  [
    'device codes',
    '401 unauthorized',
    (headers) => service.fetch('/v1/auth/device/poll', json({ deviceCode: random('svcd_') }, headers)),
  ],
  [
    'refresh tokens',
    '401 unauthorized',
    (headers) =>
      service.fetch(
        '/v1/auth/token/refresh',
        json({ account: 'a@example.com', refreshToken: refreshToken() }, headers),
      ),
  ],
  [
    'device codes in the form of OAuth',
    '400 invalid_grant',
    (headers) =>
      service.fetch('/oauth/token', form({ grant_type: DEVICE_GRANT, device_code: random('svcd_') }, headers)),
  ],
  [
    'refresh tokens in the form of OAuth',
    '401 invalid_grant',
    (headers) =>
      service.fetch('/oauth/token', form({ grant_type: 'refresh_token', refresh_token: refreshToken() }, headers)),
  ],
  [
    'refresh tokens that are revoked',
    '200',
    (headers) => service.fetch('/oauth/revoke', form({ token: refreshToken() }, headers)),
  ],
  [
    'answers to passkey challenges',
    '401 unauthorized',
    (headers) => service.fetch('/v1/auth/passkeys/login/finish', json({ credential: CREDENTIAL }, headers)),
  ],
  [
    'session cookies',
    '401 authenticate_first',
    (headers) => service.fetch('/device', { headers: { ...headers, cookie: `svc_session=${random('svcs_')}` } }),
  ],
  [
    'cookies that are signed out',
    '200',
    (headers) => {
      const cookie = `svc_session=${random('svcs_')}`
      return service.fetch('/v1/auth/logout', { method: 'POST', headers: { ...headers, cookie } })
    },
  ],
]

/** Sends unknown credentials from a network until it is refused. */
async function flood(send: Send, network: Record<string, string>): Promise<string[]> {
  const outcomes: string[] = []
  for (let count = 0; count < LIMIT; count++) outcomes.push(await outcomeOf(await send(network)))
  return outcomes
}

describe('unknown credentials from one network', () => {
  it.each(UNKNOWN)('are refused after the limit: %s', async (_, outcome, send) => {
    const network = newNetwork()
    const expected = Array.from({ length: LIMIT }, () => outcome)
    expect(await flood(send, network)).toEqual(expected)
    const refused = await send(network)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    expect(await outcomeOf(await send(newNetwork()))).toBe(outcome)
  })

  it('are refused so that pages of an allowed origin can read it, and not at the preflight', async () => {
    const network = newNetwork()
    const send: Send = (headers) =>
      service.fetch('/v1/auth/device/poll', json({ deviceCode: random('svcd_') }, { ...headers, origin: ORIGIN }))
    await flood(send, network)
    const refused = await send(network)
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([429, ORIGIN])
    const preflight = { ...network, origin: ORIGIN, 'access-control-request-method': 'POST' }
    const allowed = await service.fetch('/v1/auth/device/poll', { method: 'OPTIONS', headers: preflight })
    expect(allowed.status).toBe(204)
  })

  it('refuse every operation that takes a cookie, and pages say so', async () => {
    const network = newNetwork()
    const cookie = `svc_session=${random('svcs_')}`
    await flood((headers) => service.fetch('/device', { headers: { ...headers, cookie } }), network)
    const routes = routesOf(contractOf(readContract(), 'control-plane'))
    const closed = routes.filter(({ operation: { security = [] } }) => {
      const names = security.flatMap((scheme) => Object.keys(scheme))
      return names.includes('SessionCookie') && security.every((scheme) => Object.keys(scheme).length > 0)
    })
    expect(closed.length).toBeGreaterThan(10)
    for (const { method, path } of closed) {
      const url = path.replaceAll(/\{\w+\}/g, () => crypto.randomUUID())
      const response = await service.fetch(url, { method: method.toUpperCase(), headers: { ...network, cookie } })
      expect(response.status, `${method} ${path}`).toBe(429)
    }
    for (const path of ['/device', `/v1/auth/magic/consume?token=${random('svcm_')}`]) {
      const page = await service.fetch(path, { headers: { ...network, cookie, accept: 'text/html' } })
      const says = /Too many tries.*Try again in \d+ seconds\./s
      expect([page.status, await page.text()]).toEqual([429, expect.stringMatching(says)])
    }
  })
})

describe('known credentials', () => {
  it('do not count: polls, opened links and a session cookie', async () => {
    const email = persons.next()
    const cookie = await signInBrowser(service, email)
    const { deviceCode } = await service.startLogin(email)
    const path = `/v1/auth/magic/consume?token=${mailTokenOf(service, email)}`
    const network = newNetwork()
    for (let count = 0; count < 2 * LIMIT; count++) {
      expect((await service.fetch('/v1/auth/device/poll', json({ deviceCode }, network))).status).toBeOneOf([428, 429])
      expect((await service.fetch(path, { headers: network })).status).toBe(200)
      expect((await service.fetch('/device', { headers: { ...network, cookie } })).status).toBe(200)
    }
    const poll = await service.fetch('/v1/auth/device/poll', json({ deviceCode }, network))
    expect(Number(poll.headers.get('retry-after'))).toBeLessThanOrEqual(5)
  })

  it('do not count: the cookie of a session that is over', async () => {
    const cookie = await signInBrowser(service, persons.next())
    service.clock.advance({ seconds: 24 * 3600 })
    const network = newNetwork()
    for (let count = 0; count < 2 * LIMIT; count++)
      expect((await service.fetch('/device', { headers: { ...network, cookie } })).status).toBe(401)
  })

  it.each(['accessToken', 'refreshToken'] as const)('do not count: an %s that is revoked', async (kind) => {
    const { [kind]: token } = await service.signIn(persons.next())
    const network = newNetwork()
    for (let count = 0; count < 2 * LIMIT; count++)
      expect((await service.fetch('/oauth/revoke', form({ token }, network))).status).toBe(200)
  })
})
