import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { people, signInBrowser } from '../support/people.ts'
import { bearerOf, outcomeOf } from '../support/requests.ts'
import { BASE_URL, startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

describe('getDeviceStatus', () => {
  describe('200', () => {
    const status = (email: string) => ({
      authenticated: true,
      user: { email, organization: 'acme', team: '@acme/core', role: 'member' },
    })

    it('returns the account of a bearer token', async () => {
      const email = persons.next()
      const { accessToken } = await service.signIn(email)
      const { data } = await service.clientOf(accessToken).GET('/device')
      expect(data).toEqual(status(email))
    })

    it('returns the account of a browser session', async () => {
      const email = persons.next()
      const cookie = await signInBrowser(service, email)
      const response = await service.fetch('/device', { headers: { cookie } })
      expect(await response.json()).toEqual(status(email))
      expect(response.headers.get('cache-control')).toBe('no-store')
    })

    it('accepts the access token from its cookie', async () => {
      const email = persons.next()
      const { accessToken } = await service.signIn(email)
      const response = await service.fetch('/device', { headers: { cookie: `svc_access=${accessToken}` } })
      expect(await response.json()).toEqual(status(email))
    })

    it('returns the role of an admin', async () => {
      await using example = await startService()
      const { accessToken } = await example.signIn('ada@example.com')
      const { data } = await example.clientOf(accessToken).GET('/device')
      expect(data?.user.role).toBe('admin')
    })
  })

  describe('401', () => {
    it.each(['/device', '/device/'])('returns where to sign in: %s', async (path) => {
      const response = await service.fetch(path)
      expect(await outcomeOf(response)).toBe('401 authenticate_first')
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      expect(response.headers.get('x-should-retry')).toBe('false')
      expect(await response.json()).toMatchObject({
        auth: { deviceStart: `${BASE_URL}/v1/auth/device/start`, page: `${BASE_URL}/device` },
      })
    })

    it.each<[string, HeadersInit]>([
      ['an invalid token', { authorization: 'Bearer nonsense' }],
      ['another authentication scheme', { authorization: 'Basic YTpi' }],
      ['an unknown session', { cookie: 'svc_session=svcs_unknown' }],
      ['an empty session', { cookie: 'svc_session=' }],
    ])('does not know %s', async (_, headers) => {
      expect(await outcomeOf(await service.fetch('/device', { headers }))).toBe('401 authenticate_first')
    })

    it('refuses an expired access token', async () => {
      const { accessToken } = await service.signIn(persons.next())
      service.clock.advance({ seconds: 901 })
      const response = await service.fetch('/device', { headers: bearerOf(accessToken) })
      expect(await outcomeOf(response)).toBe('401 authenticate_first')
    })
  })
})
