import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mailTokenOf, people, signInBrowser, tokenOf } from '../support/people.ts'
import { expectOk, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const BROWSER = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }

const show = (token: string, init: RequestInit = {}) =>
  service.fetch(`/v1/auth/magic/consume?token=${encodeURIComponent(token)}`, init)
const consume = (token: string) => service.fetch('/v1/auth/magic/consume', json({ token }))

describe('showMagicLink', () => {
  describe('200', () => {
    it('shows device, user code and place of the pending login with a form to decide', async () => {
      const email = persons.next()
      const { userCode } = await service.startLogin(email, { deviceName: 'Kitchen laptop' })
      const response = await show(mailTokenOf(service, email))
      const page = await response.text()

      expect(response.status).toBe(200)
      for (const shown of ['Kitchen laptop', userCode, '127.0.0.1', email, 'Approve', 'Deny'])
        expect(page).toContain(shown)
    })

    it('answers a program with the page too', async () => {
      const email = persons.next()
      await service.startLogin(email)
      const response = await show(mailTokenOf(service, email), { headers: { accept: 'application/json' } })
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    })

    it('shows no form and no account on the page of verificationUri', async () => {
      const email = persons.next()
      const { verificationUri, userCode } = await service.startLogin(email)
      const page = await (await show(tokenOf(verificationUri))).text()
      expect(page).not.toContain(email)
      expect(page).not.toContain(userCode)
      expect(page).not.toContain('value="approve"')
    })

    it('shows the form on the page of verificationUri only to the signed-in account of the login', async () => {
      const [own, foreign] = [persons.next(), persons.next()]
      const cookies = { own: await signInBrowser(service, own), foreign: await signInBrowser(service, foreign) }
      const { verificationUri, userCode } = await service.startLogin(own)
      const pageFor = async (cookie: string) => (await show(tokenOf(verificationUri), { headers: { cookie } })).text()

      expect(await pageFor(cookies.own)).toContain(userCode)
      expect(await pageFor(cookies.foreign)).not.toContain(userCode)
    })

    it('ignores redirect targets in the query', async () => {
      const email = persons.next()
      await service.startLogin(email)
      const token = mailTokenOf(service, email)
      const response = await service.fetch(
        `/v1/auth/magic/consume?token=${token}&next=https%3A%2F%2Fevil.example&callbackURL=%2F%2Fevil.example`,
        { redirect: 'manual' },
      )
      expect(response.status).toBe(200)
      expect(response.headers.get('location')).toBeNull()
      expect(await response.text()).not.toContain('evil.example')
    })
  })

  describe('400', () => {
    it.each([
      ['no token', ''],
      ['an empty token', '?token='],
      ['two tokens', '?token=a&token=b'],
      ['a list of tokens', '?token[]=a'],
      ['a token of 5000 characters', `?token=${'a'.repeat(5000)}`],
    ])('refuses %s', async (_, query) => {
      const response = await service.fetch(`/v1/auth/magic/consume${query}`)
      expect(await outcomeOf(response)).toBe('400 invalid_request')
    })

    it('answers a browser with a page', async () => {
      const response = await service.fetch('/v1/auth/magic/consume', { headers: BROWSER })
      expect(response.status).toBe(400)
      expect(response.headers.get('content-type')).toContain('text/html')
    })
  })

  describe('401', () => {
    it.each([
      ['unknown', async () => 'svcm_unknown'],
      ['used', usedToken],
      ['denied', deniedToken],
    ])('refuses a link that is %s', async (_, tokenOfKind) => {
      const token = await tokenOfKind()
      expect(await outcomeOf(await show(token))).toBe('401 unauthorized')
      const page = await show(token, { headers: BROWSER })
      expect(page.status).toBe(401)
      expect(page.headers.get('content-type')).toContain('text/html')
    })

    async function usedToken(): Promise<string> {
      const email = persons.next()
      await service.startLogin(email)
      await expectOk('The approval', consume(mailTokenOf(service, email)))
      return mailTokenOf(service, email)
    }

    async function deniedToken(): Promise<string> {
      const email = persons.next()
      await service.startLogin(email)
      const token = mailTokenOf(service, email)
      await expectOk('The denial', service.fetch('/v1/auth/magic/consume', json({ token, action: 'deny' })))
      return token
    }
  })

  describe('410', () => {
    it('refuses an expired link with JSON for programs and a page for browsers', async () => {
      const email = persons.next()
      await service.startLogin(email)
      const token = mailTokenOf(service, email)
      service.clock.advance({ seconds: 600 })

      expect(await outcomeOf(await show(token))).toBe('410 expired')
      const page = await show(token, { headers: BROWSER })
      expect(page.status).toBe(410)
      expect(await page.text()).toContain('expired')
    })
  })
})
