import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { people, signInBrowser } from '../support/people.ts'
import { bearerOf, bytes, expectOk, form, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/v1/auth/logout'
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const deviceStatus = async (headers: HeadersInit) => (await service.fetch('/device', { headers })).status

describe('logout', () => {
  describe('200', () => {
    it.each<[string, HeadersInit]>([
      ['no credential', {}],
      ['an invalid token', { authorization: 'Bearer garbage' }],
      ['another authentication scheme', { authorization: 'Basic YTpi' }],
      ['unknown cookies', { cookie: 'svc_session=a; svc_access=b; svc_refresh=c' }],
    ])('signs %s out', async (_, headers) => {
      const response = await service.fetch(PATH, { method: 'POST', headers })
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ ok: true })
    })

    it('ends the device session of the bearer token, and answers a repeated request the same', async () => {
      const { accessToken } = await service.signIn(persons.next())
      const headers = bearerOf(accessToken)
      expect(await deviceStatus(headers)).toBe(200)
      for (const attempt of [1, 2]) {
        const response = await service.fetch(PATH, { method: 'POST', headers })
        expect(await response.json(), `attempt ${attempt}`).toEqual({ ok: true })
        expect(await deviceStatus(headers)).toBe(401)
      }
    })

    it('answers a browser with a page', async () => {
      const response = await service.fetch(PATH, form({}, { accept: 'text/html' }))
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('<h1>Signed out</h1>')])
    })

    it('ends only the browser session of the cookie', async () => {
      const [email, other] = [persons.next(), persons.next()]
      const [cookie, stays] = [await signInBrowser(service, email), await signInBrowser(service, other)]
      await expectOk('The sign-out', service.fetch(PATH, { method: 'POST', headers: { cookie } }))
      expect(await deviceStatus({ cookie })).toBe(401)
      expect(await deviceStatus({ cookie: stays })).toBe(200)
    })

    it.each([
      ['nothing', undefined],
      ['JSON', bytes('{}', 'application/json')],
      ['an incomplete JSON object', bytes('{"a":', 'application/json')],
      ['text', bytes('bye', 'text/plain')],
    ])('does not mind %s as a body, which it does not read', async (_, init) => {
      const response = await service.fetch(PATH, { method: 'POST', ...init })
      expect(await response.json()).toEqual({ ok: true })
    })
  })

  describe('403', () => {
    it('refuses a request from another site, which could sign its visitors out', async () => {
      const cookie = await signInBrowser(service, persons.next())
      const response = await service.fetch(PATH, json({}, { cookie, origin: 'https://evil.example' }))
      expect(await outcomeOf(response)).toBe('403 forbidden')
      expect(response.headers.getSetCookie()).toEqual([])
      expect(await deviceStatus({ cookie })).toBe(200)
    })
  })
})

it('logout has a page that leads on for a browser that opens the address again', async () => {
  const response = await service.fetch(PATH, { headers: { accept: 'text/html' } })
  expect([response.status, await response.text()]).toEqual([405, expect.stringContaining('href="/device"')])
})
