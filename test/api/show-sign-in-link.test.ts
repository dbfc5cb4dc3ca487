import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { people } from '../support/people.ts'
import { outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { consumeSignInLink, requestSignInLink } from '../support/sign-in-links.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const open = (token: string, init: RequestInit = { headers: { accept: 'text/html' } }) =>
  service.fetch(`/sign-in/email?token=${token}`, init)

describe('showSignInLink', () => {
  describe('200', () => {
    it('shows who would be signed in, and changes nothing, however often it is opened', async () => {
      const email = persons.next()
      const token = await requestSignInLink(service, email)
      for (let count = 0; count < 5; count++) {
        const response = await open(token, count % 2 ? { method: 'HEAD' } : undefined)
        expect(response.status).toBe(200)
        expect(response.headers.getSetCookie()).toEqual([])
        expect(response.headers.get('referrer-policy')).toBe('no-referrer')
        expect(response.headers.get('content-security-policy')).not.toContain('script-src')
        if (count % 2 === 0) expect(await response.text()).toContain(email)
      }
      expect((await consumeSignInLink(service, token)).status).toBe(303)
    })
  })

  describe('400', () => {
    it('refuses an address without a token', async () => {
      expect(await outcomeOf(await service.fetch('/sign-in/email'))).toBe('400 invalid_request')
    })
  })

  describe('401', () => {
    it.each([
      ['unknown', async () => 'svci_unknown'],
      ['of a device login', async () => new URL((await service.startLogin(persons.next())).verificationUri).search],
      [
        'used',
        async () => {
          const token = await requestSignInLink(service, persons.next())
          await consumeSignInLink(service, token)
          return token
        },
      ],
    ])('refuses a token that is %s, as a page and as JSON', async (_name, makeToken) => {
      const token = (await makeToken()).replace('?token=', '')
      const page = await open(token)
      expect([page.status, page.headers.get('www-authenticate'), page.headers.get('x-should-retry')]).toEqual([
        401,
        'Bearer',
        'false',
      ])
      expect(await page.text()).toContain('href="/sign-in"')
      expect(await outcomeOf(await open(token, {}))).toBe('401 unauthorized')
    })
  })

  describe('410', () => {
    it('refuses a link at its end, and leads to a new one', async () => {
      await using own = await startService()
      const token = await requestSignInLink(own, 'ada@example.com')
      own.clock.advance({ seconds: 599, ms: 999 })
      expect((await own.fetch(`/sign-in/email?token=${token}`)).status).toBe(200)
      own.clock.advance({ ms: 1 })
      expect(await outcomeOf(await own.fetch(`/sign-in/email?token=${token}`))).toBe('410 expired')
      const page = await own.fetch(`/sign-in/email?token=${token}`, { headers: { accept: 'text/html' } })
      expect([page.status, await page.text()]).toEqual([410, expect.stringContaining('Request a new link')])
    })
  })
})
