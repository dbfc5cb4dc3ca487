import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SIGN_IN_SUBJECT } from '../support/mailbox.ts'
import { people } from '../support/people.ts'
import { bytes, form, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { waitForValue } from '../support/wait.ts'

const PATH = '/sign-in'
const persons = people()
let service: TestService

beforeAll(async () => {
  const env = { SVC_TRUST_PROXY: 'loopback', SVC_LIMIT_STARTS_PER_IP: '4', SVC_LIMIT_MAILS_PER_ADDRESS: '2' }
  service = await startService({ directory: persons.directory, env })
})
afterAll(() => service[Symbol.asyncDispose]())

let networks = 0
const request = (email: string, headers: Record<string, string> = { 'x-forwarded-for': `203.0.113.${++networks}` }) =>
  service.fetch(PATH, form({ email }, headers))
const linksTo = (email: string) => service.mailbox.waitFor(email, SIGN_IN_SUBJECT)

describe('requestSignInLink', () => {
  describe('200', () => {
    it('emails a link to an invited address, in any case and with spaces around it', async () => {
      const email = persons.next()
      expect((await request(` ${email.toUpperCase()} `)).status).toBe(200)
      const [mail] = await linksTo(email)
      expect(mail?.text).toMatch(/^http:\/\/localhost:8787\/sign-in\/email\?token=svci_[\w-]{43}$/m)
      expect(mail?.text).toContain('203.0.113.')
      expect(mail?.raw).toContain('Auto-Submitted: auto-generated')
    })

    it('stores only the hash of the token, with an audit event', async () => {
      const email = persons.next()
      await request(email)
      await linksTo(email)
      const { prisma } = service.database
      const account = await prisma.account.findUniqueOrThrow({ where: { email } })
      const [link] = await prisma.signInLink.findMany({ where: { invitation: { accountId: account.id } } })
      expect(link?.hash).toMatch(/^[\w-]{43}$/)
      expect(link && link.expiresAt.getTime() - link.createdAt.getTime()).toBe(600_000)
      const events = await prisma.auditEvent.findMany({ where: { accountId: account.id } })
      expect(events.map(({ kind }) => kind)).toContain('sign_in_link.requested')
    })

    it('answers every address in the same way, and emails only invited ones', async () => {
      const invited = persons.next()
      const pageFor = async (email: string) => {
        const response = await request(email)
        expect(response.status).toBe(200)
        return (await response.text()).replaceAll(email, 'EMAIL')
      }
      const [known, unknown] = [await pageFor(invited), await pageFor('nobody@example.com')]
      expect(unknown).toBe(known)
      await linksTo(invited)
      expect(service.mailbox.mails.filter(({ to }) => to.includes('nobody@example.com'))).toEqual([])
    })

    it('sends no third email to an address, and does not say so', async () => {
      const email = persons.next()
      for (let count = 0; count < 3; count++) expect((await request(email)).status).toBe(200)
      await service.mailbox.waitFor(email, SIGN_IN_SUBJECT, 2)
      // The next person's email comes after those of the first one.
      const next = persons.next()
      await request(next)
      await linksTo(next)
      expect(await linksTo(email)).toHaveLength(2)
    })

    it('answers before the mail server does, and when that refuses', async () => {
      const email = persons.next()
      service.mailbox.fault = 'hang-at-recipient'
      expect((await request(email)).status).toBe(200)
      service.mailbox.fault = 'refuse-recipient'
      expect((await request(email)).status).toBe(200)
      service.mailbox.fault = 'none'
    })

    it('keeps no link whose email the mail server refuses, and writes why to the log', async () => {
      const email = persons.next()
      service.mailbox.fault = 'refuse-recipient'
      await request(email)
      const { prisma } = service.database
      const { id: accountId } = await prisma.account.findUniqueOrThrow({ where: { email } })
      const failures = () => service.log.filter(({ event }) => event === 'sign_in_link.mail_failed')
      const isLogged = () => failures().some(({ fields }) => 'accountId' in fields && fields.accountId === accountId)
      await waitForValue('the refusal in the log', isLogged, true)
      service.mailbox.fault = 'none'
      expect(await prisma.signInLink.count({ where: { invitation: { accountId } } })).toBe(0)
      const ofLinks = { accountId, kind: { startsWith: 'sign_in_link.' } }
      const events = await prisma.auditEvent.findMany({ where: ofLinks, orderBy: { id: 'asc' } })
      expect(events).toMatchObject([
        { kind: 'sign_in_link.requested' },
        { kind: 'sign_in_link.cancelled', details: { reason: 'mail_failed' } },
      ])
    })
  })

  describe('400', () => {
    it.each([['nobody'], ['a@b.test, evil@e.test'], ['a@b.test\r\nBcc: evil@e.test']])(
      'refuses what is not one address: %j',
      async (email) => {
        expect((await request(email)).status).toBe(400)
      },
    )

    it('answers a program with an error', async () => {
      expect(await outcomeOf(await request('nobody', { accept: 'application/json' }))).toBe('400 invalid_request')
    })

    it('shows the form again with the address, what is wrong, and what the person came for', async () => {
      const send = async (fields: Record<string, string>) => {
        const response = await service.fetch(PATH, form({ email: 'a..b@example.com', ...fields }))
        return { status: response.status, page: await response.text() }
      }
      const { status, page } = await send({ userCode: 'BCDF-GHJK' })
      expect(status).toBe(400)
      expect(page).toMatch(/That is not one email address\. No email was sent\.[^]*value="a\.\.b@example\.com"/)
      expect(page).toContain('name="userCode" value="BCDF-GHJK"')
      expect((await send({ page: '/teams/acme/core' })).page).toContain('name="page" value="/teams/acme/core"')
      expect((await send({ page: 'https://evil.example/' })).page).not.toContain('evil.example')
    })

    it('refuses an unknown field with a page', async () => {
      const response = await service.fetch(PATH, form({ email: 'a@example.com', next: 'https://evil.example' }))
      expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8'])
    })
  })

  describe('403', () => {
    it('refuses the form of another site', async () => {
      const response = await request(persons.next(), { origin: 'https://evil.example' })
      expect([response.status, response.headers.get('x-should-retry')]).toEqual([403, 'false'])
    })
  })

  describe('413', () => {
    it('refuses a large form', async () => {
      expect((await request('x'.repeat(17_000))).status).toBe(413)
    })
  })

  describe('415', () => {
    it('refuses JSON', async () => {
      const json = bytes('{"email":"a@example.com"}', 'application/json', { accept: 'text/html' })
      expect((await service.fetch(PATH, json)).status).toBe(415)
    })
  })

  describe('429', () => {
    it('limits the requests of one network, and says how long to wait', async () => {
      const headers = { 'x-forwarded-for': '198.51.100.1' }
      for (let count = 0; count < 4; count++) await request('nobody@example.com', headers)
      const page = await request('nobody@example.com', headers)
      expect(page.status).toBe(429)
      expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(500)
      expect(await page.text()).toContain('Too many tries')
      const program = await service.fetch(PATH, {
        method: 'POST',
        headers,
        body: new URLSearchParams({ email: 'nobody@example.com' }),
      })
      expect(await outcomeOf(program)).toBe('429 rate_limited')
    })
  })

  describe('503', () => {
    it('says that email cannot be sent, for every address', async () => {
      await using silent = await startService({ mail: false })
      for (const email of ['ada@example.com', 'nobody@example.com'])
        expect((await silent.fetch(PATH, form({ email }))).status).toBe(503)
    })
  })
})
