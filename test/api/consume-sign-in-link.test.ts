import type { Request } from 'express'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { beginBrowserSession } from '../../src/control/browser-session/begin.ts'
import { makeSignInLinkStore } from '../../src/control/sign-in-link/store.ts'
import { hashSecret, Secret } from '../../src/kernel/secret.ts'
import { cookiesOf, people, signInBrowser } from '../support/people.ts'
import { atOnce, bytes, form, outcomeOf, tally } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { consumeSignInLink, requestSignInLink } from '../support/sign-in-links.ts'

const PATH = '/sign-in/email'
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const statusOf = async (cookie: string) => (await service.fetch('/device', { headers: { cookie } })).status

describe('consumeSignInLink', () => {
  describe('303', () => {
    it('signs the browser in that sends the form, once, with an audit event', async () => {
      const email = persons.next()
      const token = await requestSignInLink(service, email)
      const consumed = await consumeSignInLink(service, token)
      expect([consumed.status, consumed.headers.get('location')]).toEqual([303, '/device'])
      const cookie = cookiesOf(consumed)
      const status = await service.fetch('/device', { headers: { cookie } })
      expect(await status.json()).toMatchObject({ authenticated: true, user: { email } })
      expect((await consumeSignInLink(service, token)).status).toBe(401)
      const events = await service.database.prisma.auditEvent.findMany({ where: { kind: 'browser_session.opened' } })
      expect(events.at(-1)?.details).toEqual({ via: 'sign_in_link' })
    })

    it('signs in one of fifty browsers that send it at once', async () => {
      const token = await requestSignInLink(service, persons.next())
      const statuses = await atOnce(50, async () => String((await consumeSignInLink(service, token)).status))
      expect(tally(statuses)).toEqual({ 303: 1, 401: 49 })
    })

    it('signs in one of two browsers whose requests have read the link before either used it up', async () => {
      const token = await requestSignInLink(service, persons.next())
      const links = makeSignInLinkStore(service.database)
      const link = await links.find(hashSecret(new Secret(token)))
      if (!link) throw new Error('There must be a link.')
      const now = service.clock.now()
      const use = () => {
        const { browser } = beginBrowserSession({ headers: {}, cookies: {} } as Request, link.invitationId, now)
        return links.consume(link, browser)
      }
      expect([await use(), await use()]).toEqual([true, false])
    })

    it('leads back to the code that the same browser came to approve', async () => {
      const email = persons.next()
      const asked = await service.fetch('/sign-in', form({ email, userCode: 'bcdfghjk' }))
      const kept = asked.headers.getSetCookie()
      expect(kept).toEqual([
        expect.stringMatching(/^svc_next=\/device\?userCode=BCDF-GHJK; Max-Age=600; Path=\/sign-in;/),
      ])
      const token = await requestSignInLink(service, email)
      const consumed = await consumeSignInLink(service, token, { cookie: cookiesOf(asked) })
      expect(consumed.headers.get('location')).toBe('/device?userCode=BCDF-GHJK')
      expect(consumed.headers.getSetCookie().join()).toContain('svc_next=;')
    })

    it('leads back to the page of a team that the same browser asked for, with its query', async () => {
      const path = '/teams/acme/core/usage?from=2026-11-01&to=2026-11-21&by=member'
      const signedOut = async (asked: string) =>
        (await service.fetch(asked, { headers: { accept: 'text/html' } })).text()
      expect(await signedOut(path)).toContain(`name="page" value="${path.replaceAll('&', '&amp;')}"`)
      // The form takes a path of at most 256 characters.
      const tooLong = `/teams/acme/core/members?after=${'a'.repeat(240)}`
      expect(await signedOut(tooLong)).toContain('name="page" value="/teams/acme/core/members"')
      const email = persons.next()
      const asked = await service.fetch('/sign-in', form({ email, page: path }))
      const token = await requestSignInLink(service, email)
      const consumed = await consumeSignInLink(service, token, { cookie: cookiesOf(asked) })
      expect(consumed.headers.get('location')).toBe(path)
    })

    it.each(['https://evil.example/teams', '/teams//evil.example', '/teams/../docs', '/teams?a,b'])(
      'leads to the device page when the page is %j',
      async (page) => {
        const email = persons.next()
        const asked = await service.fetch('/sign-in', form({ email, page }))
        expect(asked.headers.getSetCookie()).toEqual([])
        const token = await requestSignInLink(service, email)
        const consumed = await consumeSignInLink(service, token, { cookie: `svc_next=${page}` })
        expect(consumed.headers.get('location')).toBe('/device')
      },
    )

    it('does not lead another browser to the code of the person who asked for the link', async () => {
      const email = persons.next()
      await service.fetch('/sign-in', form({ email, userCode: 'BCDF-GHJK' }))
      const consumed = await consumeSignInLink(service, await requestSignInLink(service, email))
      expect(consumed.headers.get('location')).toBe('/device')
    })

    it('does not sign in the browser that asked', async () => {
      const email = persons.next()
      const asked = await service.fetch('/sign-in', form({ email }))
      await consumeSignInLink(service, await requestSignInLink(service, email))
      expect(await statusOf(cookiesOf(asked))).toBe(401)
    })

    it('replaces the session of the same browser, also of another account', async () => {
      const other = await signInBrowser(service, persons.next())
      const consumed = await consumeSignInLink(service, await requestSignInLink(service, persons.next()), {
        cookie: other,
      })
      expect([consumed.status, await statusOf(other), await statusOf(cookiesOf(consumed))]).toEqual([303, 401, 200])
    })
  })

  describe('400', () => {
    it('refuses a form without a token', async () => {
      expect((await service.fetch(PATH, form({ email: 'a@example.com' }))).status).toBe(400)
    })

    it('asks for the address in approval mode code, which a scanner does not type', async () => {
      await using strict = await startService({ env: { SVC_APPROVAL_MODE: 'code' } })
      const token = await requestSignInLink(strict, 'ada@example.com')
      for (const fields of [{}, { email: 'bob@example.com' }]) {
        const refused = await consumeSignInLink(strict, token, {}, fields)
        expect([refused.status, await refused.text()]).toEqual([
          400,
          expect.stringContaining('Type your email address'),
        ])
      }
      expect((await consumeSignInLink(strict, token, {}, { email: ' Ada@Example.com' })).status).toBe(303)
    })
  })

  describe('401', () => {
    it('refuses a link of before a withdrawal, also when the person is invited again', async () => {
      await using own = await startService()
      const token = await requestSignInLink(own, 'ada@example.com')
      const { directory } = people()
      await own.applyDirectory(directory)
      expect((await consumeSignInLink(own, token)).status).toBe(401)
      await own.applyDirectory(directory.replaceAll('person-1@example.com', 'ada@example.com'))
      expect((await consumeSignInLink(own, token)).status).toBe(401)
      const cookie = cookiesOf(await consumeSignInLink(own, await requestSignInLink(own, 'ada@example.com')))
      expect((await own.fetch('/device', { headers: { cookie } })).status).toBe(200)
    })

    it('refuses a link of before signing out everywhere', async () => {
      const email = persons.next()
      const cookie = await signInBrowser(service, email)
      const token = await requestSignInLink(service, email)
      await service.fetch('/device', form({ action: 'sign-out-everywhere' }, { cookie }))
      expect((await consumeSignInLink(service, token)).status).toBe(401)
    })

    it('answers a program with the error of the contract', async () => {
      const sent = { method: 'POST', body: new URLSearchParams({ token: 'svci_unknown' }) }
      expect(await outcomeOf(await service.fetch(PATH, sent))).toBe('401 unauthorized')
    })
  })

  describe('403', () => {
    it('refuses the form of another site, so that nobody signs a visitor in', async () => {
      const token = await requestSignInLink(service, persons.next())
      const response = await consumeSignInLink(service, token, { origin: 'https://evil.example' })
      expect([response.status, response.headers.getSetCookie()]).toEqual([403, []])
    })
  })

  describe('410', () => {
    it('refuses a link at its end', async () => {
      await using own = await startService()
      const token = await requestSignInLink(own, 'ada@example.com')
      own.clock.advance({ seconds: 600 })
      expect((await consumeSignInLink(own, token)).status).toBe(410)
    })
  })

  describe('413', () => {
    it('refuses a large form', async () => {
      expect((await service.fetch(PATH, form({ token: 'x'.repeat(17_000) }))).status).toBe(413)
    })
  })

  describe('415', () => {
    it('refuses JSON', async () => {
      expect((await service.fetch(PATH, bytes('{"token":"x"}', 'application/json'))).status).toBe(415)
    })
  })
})
