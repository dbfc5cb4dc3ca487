import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeDeviceLoginStore } from '../../src/control/device-login/store.ts'
import { hashSecret, newSecret } from '../../src/kernel/secret.ts'
import { people, tokenOf } from '../support/people.ts'
import { bytes, expectData, json, messageOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/v1/auth/device/start'
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

describe('startDeviceLogin', () => {
  describe('202', () => {
    it('returns the device code, the user code, the page and the interval', async () => {
      const email = persons.next()
      const { data, response } = await service.client.POST(PATH, { body: { email, deviceId: 'laptop-1' } })

      expect(response.status).toBe(202)
      expect(data).toEqual({
        deviceCode: expect.stringMatching(/^svcd_[\w-]{43}$/),
        userCode: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
        verificationUri: expect.stringMatching(
          /^http:\/\/localhost:8787\/v1\/auth\/magic\/consume\?token=svcm_[\w-]{43}$/,
        ),
        intervalSeconds: 5,
        expiresAt: new Date(service.clock.now().getTime() + 600_000).toISOString(),
      })
    })

    it('sends one email with the user code, the device and a token that the answer does not have', async () => {
      const email = persons.next()
      const { userCode, verificationUri } = await service.startLogin(email, { deviceName: 'Kitchen laptop' })

      const mails = service.mailbox.mails.filter(({ to }) => to.includes(email))
      expect(mails).toHaveLength(1)
      expect(mails[0]?.to).toEqual([email])
      expect(mails[0]?.text).toContain(userCode)
      expect(mails[0]?.text).toContain('Kitchen laptop')
      expect(mails[0]?.raw.replaceAll(/=\r?\n/g, '')).not.toContain(tokenOf(verificationUri))
    })

    it('has the user code and the device name in the subject, and never a second header line', async () => {
      const email = persons.next()
      const { userCode } = await service.startLogin(email, { deviceName: 'Küche\r\nBcc: eve@example.com' })

      const mail = service.mailbox.newest(email)
      expect(mail.subject.replaceAll('\u200B', '')).toBe(`Approve sign-in ${userCode} on Küche Bcc: eve@example.com`)
      expect(mail.raw).not.toMatch(/^Bcc:/im)
      expect(mail.raw).toMatch(/^Auto-Submitted: auto-generated\r$/m)
    })

    it('uses the device id as the name of a device without a name', async () => {
      const email = persons.next()
      expectData('The start', await service.client.POST(PATH, { body: { email, deviceId: 'build-box' } }))
      expect(service.mailbox.newest(email).text).toContain('build-box')
    })

    it.each(['', '   ', '\u200b\u202e'])(
      'treats a name without visible characters (%j) like no name',
      async (deviceName) => {
        const email = persons.next()
        const { response } = await service.client.POST(PATH, { body: { email, deviceId: 'box-7', deviceName } })
        expect(response.status).toBe(202)
        expect(service.mailbox.newest(email).text).toContain('box-7')
      },
    )

    it('is not cacheable', async () => {
      const email = persons.next()
      const { response } = await service.client.POST(PATH, { body: { email, deviceId: 'laptop-1' } })
      expect(response.headers.get('cache-control')).toBe('no-store')
    })

    it('signs in to the given team', async () => {
      const email = persons.next()
      const { response } = await service.client.POST(PATH, { body: { email, deviceId: 'x', team: '@acme/core' } })
      expect(response.status).toBe(202)
      expect(service.mailbox.newest(email).text).toContain('@acme/core')
    })

    it('cancels the oldest login of an account that has ten already', async () => {
      const email = persons.next()
      for (let at = 0; at < 11; at++) {
        await service.startLogin(email, { deviceId: `device-${at}` })
        service.clock.advance({ ms: 1 })
      }
      const where = { invitation: { account: { email } }, status: 'cancelled' } as const
      const cancelled = await service.database.prisma.deviceLogin.findMany({ where })
      expect(cancelled.map(({ deviceId }) => deviceId)).toEqual(['device-0'])
      const audit = { kind: 'device_login.cancelled', subjectId: cancelled[0]?.id ?? '' }
      expect(await service.database.prisma.auditEvent.findMany({ where: audit })).toMatchObject([
        { accountId: expect.any(String) as string, teamId: null, details: { reason: 'too_many' } },
      ])
    })

    it('takes no user code of another login, and cancels none for a code that it cannot take', async () => {
      const email = persons.next()
      for (let at = 0; at < 10; at++) await service.startLogin(email, { deviceId: `device-${at}` })
      const where = { invitation: { account: { email } }, status: 'pending' } as const
      const { prisma } = service.database
      const login = await prisma.deviceLogin.findFirstOrThrow({ where, include: { invitation: true } })
      const [deviceCodeHash, mailTokenHash] = [hashSecret(newSecret('svcd_')), hashSecret(newSecret('svcm_'))]
      const secrets = { deviceCodeHash, mailTokenHash, handleTokenHash: null, userCode: login.userCode ?? '' }
      const logins = makeDeviceLoginStore(service.database)
      expect(await logins.create({ ...login, ...secrets }, login.invitation?.accountId ?? '')).toBe('taken')
      expect(await prisma.deviceLogin.count({ where })).toBe(10)
    })
  })

  describe('400', () => {
    const good = { email: 'person-1@example.com', deviceId: 'laptop-1' }
    it.each<[string, unknown, RegExp]>([
      ['without email', { deviceId: 'laptop-1' }, /^The field email is missing\.$/],
      ['without deviceId', { email: good.email }, /^The field deviceId is missing\.$/],
      ['without both fields, and names both', {}, /^The field email is missing; the field deviceId is missing\.$/],
      ['with empty fields', { email: '', deviceId: '' }, /^The field email .*; the field deviceId /],
      ['with an invalid email address', { ...good, email: 'not an address' }, /email address is not valid/],
      ['with a number for an email', { ...good, email: 7 }, /email must be a text/],
      ['with a null deviceId', { ...good, deviceId: null }, /deviceId must be a text/],
      [
        'with a deviceId that has a space',
        { ...good, deviceId: 'a b' },
        /deviceId must be 1 to 128 letters, digits and \. _ : -\.$/,
      ],
      [
        'with a deviceId of 130 characters that has spaces, and says both in one sentence',
        { ...good, deviceId: 'x '.repeat(65) },
        /^The field deviceId must have at most 128 characters and must be 1 to 128 letters, digits and \. _ : -\.$/,
      ],
      [
        'with an invalid team name',
        { ...good, team: 'core' },
        /^The field team must be the name of a team, such as @acme\/core\.$/,
      ],
      ['with an unknown field', { ...good, admin: true }, /^The field admin is not part of this request\.$/],
      ['with an array as body', [good], /must be an object/],
      ['with null as body', null, /^The body must be an object/],
      ['with a text as body', 'a', /^The body must be an object/],
    ])('refuses a request %s', async (_, body, message) => {
      const response = await service.fetch(PATH, json(body))
      expect(await outcomeOf(response)).toBe('400 invalid_request')
      expect(await messageOf(response)).toMatch(message)
    })

    it('refuses a body that is not JSON without quoting it', async () => {
      const response = await service.fetch(PATH, bytes('{"email": "ada@exam', 'application/json'))
      expect(await outcomeOf(response)).toBe('400 invalid_request')
      expect(await messageOf(response)).toBe('The body is not valid JSON.')
    })

    it('refuses a missing body', async () => {
      const response = await service.fetch(PATH, { method: 'POST' })
      expect(await outcomeOf(response)).toBe('400 invalid_request')
      expect(await messageOf(response)).toMatch(/body is missing/i)
    })
  })

  describe('403', () => {
    it('answers the same for an unknown address, a withdrawn invitation and a team of other people', async () => {
      await using other = await startService()
      await other.applyDirectory(people(1).directory)
      const ask = async (email: string, team?: string) => {
        const response = await other.fetch(PATH, json({ email, deviceId: 'x', ...(team && { team }) }))
        return { outcome: await outcomeOf(response), message: await messageOf(response) }
      }
      const unknown = await ask('nobody@example.com')

      expect(unknown.outcome).toBe('403 not_invited')
      // The directory without this address has replaced the example directory.
      expect(await ask('ada@example.com')).toEqual(unknown)
      expect(await ask('person-1@example.com', '@acme/other')).toEqual(unknown)
      expect(await ask('person-1@example.com', '@nowhere/none')).toEqual(unknown)
      expect(other.mailbox.mails).toEqual([])
    })

    it('has x-should-retry: false', async () => {
      const response = await service.fetch(PATH, json({ email: 'nobody@example.com', deviceId: 'x' }))
      expect(response.headers.get('x-should-retry')).toBe('false')
    })

    it('refuses a request from another site', async () => {
      const response = await service.fetch(
        PATH,
        json({ email: persons.next(), deviceId: 'x' }, { origin: 'https://evil.example' }),
      )
      expect(await outcomeOf(response)).toBe('403 forbidden')
    })
  })

  describe('413', () => {
    it('refuses a body of 17 KiB', async () => {
      const response = await service.fetch(PATH, json({ email: 'x'.repeat(17 * 1024), deviceId: 'x' }))
      expect(await outcomeOf(response)).toBe('413 payload_too_large')
    })
  })

  describe('415', () => {
    it.each(['text/plain', 'text/xml', 'application/json; charset=utf-16', 'application/x-www-form-urlencoded'])(
      'refuses %s and names the accepted media type',
      async (type) => {
        const body = JSON.stringify({ email: persons.next(), deviceId: 'x' })
        const response = await service.fetch(PATH, bytes(body, type))
        expect(await outcomeOf(response)).toBe('415 unsupported_media_type')
        expect(await messageOf(response)).toContain('application/json')
      },
    )
  })

  describe('503', () => {
    it('answers email_unavailable without email delivery, and creates no login', async () => {
      await using silent = await startService({ mail: false })
      const response = await silent.fetch(PATH, json({ email: 'ada@example.com', deviceId: 'x' }))
      expect(await outcomeOf(response)).toBe('503 email_unavailable')
      expect(await silent.database.prisma.deviceLogin.count()).toBe(0)
    })
  })
})
