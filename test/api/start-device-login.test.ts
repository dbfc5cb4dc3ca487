import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { people, tokenOf } from '../support/people.ts'
import { bytes, json, messageOf, outcomeOf } from '../support/requests.ts'
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
    it('gives what the device needs to poll and the person to compare', async () => {
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

    it('mails the account one letter with the user code, the device and another token than the answer has', async () => {
      const email = persons.next()
      const { userCode, verificationUri } = await service.startLogin(email, { deviceName: 'Kitchen laptop' })

      const mails = service.mailbox.mails.filter(({ to }) => to.includes(email))
      expect(mails).toHaveLength(1)
      expect(mails[0]?.to).toEqual([email])
      expect(mails[0]?.text).toContain(userCode)
      expect(mails[0]?.text).toContain('Kitchen laptop')
      expect(mails[0]?.raw.replaceAll(/=\r?\n/g, '')).not.toContain(tokenOf(verificationUri))
    })

    it('names a device without a name by its id', async () => {
      const email = persons.next()
      await service.client.POST(PATH, { body: { email, deviceId: 'build-box' } })
      expect(service.mailbox.newest(email).text).toContain('build-box')
    })

    it.each(['', '   ', '\u200b\u202e'])('takes a name with nothing to see (%j) for no name', async (deviceName) => {
      const email = persons.next()
      const { response } = await service.client.POST(PATH, { body: { email, deviceId: 'box-7', deviceName } })
      expect(response.status).toBe(202)
      expect(service.mailbox.newest(email).text).toContain('box-7')
    })

    it('must not be stored by a cache', async () => {
      const email = persons.next()
      const { response } = await service.client.POST(PATH, { body: { email, deviceId: 'laptop-1' } })
      expect(response.headers.get('cache-control')).toBe('no-store')
    })

    it('signs in to the team that is named', async () => {
      const email = persons.next()
      const { response } = await service.client.POST(PATH, { body: { email, deviceId: 'x', team: '@acme/core' } })
      expect(response.status).toBe(202)
      expect(service.mailbox.newest(email).text).toContain('@acme/core')
    })
  })

  describe('400', () => {
    const good = { email: 'person-1@example.com', deviceId: 'laptop-1' }
    it.each<[string, unknown, RegExp]>([
      ['without email', { deviceId: 'laptop-1' }, /email is missing/],
      ['without deviceId', { email: good.email }, /deviceId is missing/],
      ['without both, naming both', {}, /email is missing; deviceId is missing/],
      ['with empty fields', { email: '', deviceId: '' }, /email .*; deviceId /],
      ['with an email that is none', { ...good, email: 'not an address' }, /email must be one email address/],
      ['with a number for an email', { ...good, email: 7 }, /email must be string/],
      ['with a null deviceId', { ...good, deviceId: null }, /deviceId must be string/],
      ['with a deviceId of other characters', { ...good, deviceId: 'a b' }, /deviceId must match/],
      ['with a deviceId of 129 characters', { ...good, deviceId: 'x'.repeat(129) }, /deviceId must NOT have more/],
      ['with a team that is no name', { ...good, team: 'core' }, /team must match/],
      ['with a field that nobody knows', { ...good, admin: true }, /admin is not a field/],
      ['with a list for a body', [good], /must be object/],
      ['with null for a body', null, /./],
    ])('refuses a request %s', async (_, body, message) => {
      const response = await service.fetch(PATH, json(body))
      expect(await outcomeOf(response)).toBe('400 invalid_request')
      expect(await messageOf(response)).toMatch(message)
    })

    it('refuses a body that is not JSON, and quotes nothing of it', async () => {
      const response = await service.fetch(PATH, bytes('{"email": "ada@exam', 'application/json'))
      expect(await outcomeOf(response)).toBe('400 invalid_request')
      expect(await messageOf(response)).toBe('The body is not valid JSON.')
    })

    it('says that the body is missing', async () => {
      const response = await service.fetch(PATH, { method: 'POST' })
      expect(await outcomeOf(response)).toBe('400 invalid_request')
      expect(await messageOf(response)).toMatch(/body is missing/i)
    })
  })

  describe('403', () => {
    it('answers the same for unknown, withdrawn and other people’s team', async () => {
      await using other = await startService()
      await other.applyDirectory(people(1).directory)
      const ask = async (email: string, team?: string) => {
        const response = await other.fetch(PATH, json({ email, deviceId: 'x', ...(team && { team }) }))
        return { outcome: await outcomeOf(response), message: await messageOf(response) }
      }
      const unknown = await ask('nobody@example.com')

      expect(unknown.outcome).toBe('403 not_invited')
      // The example directory, which has her, was replaced.
      expect(await ask('ada@example.com')).toEqual(unknown)
      expect(await ask('person-1@example.com', '@acme/other')).toEqual(unknown)
      expect(await ask('person-1@example.com', '@nowhere/none')).toEqual(unknown)
      expect(other.mailbox.mails).toEqual([])
    })

    it('says that waiting does not help', async () => {
      const response = await service.fetch(PATH, json({ email: 'nobody@example.com', deviceId: 'x' }))
      expect(response.headers.get('x-should-retry')).toBe('false')
    })

    it('refuses another site’s page', async () => {
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
      'refuses %s and says what it reads',
      async (type) => {
        const body = JSON.stringify({ email: persons.next(), deviceId: 'x' })
        const response = await service.fetch(PATH, bytes(body, type))
        expect(await outcomeOf(response)).toBe('415 unsupported_media_type')
        expect(await messageOf(response)).toContain('application/json')
      },
    )
  })

  describe('503', () => {
    it('says that mail is not configured, and keeps no login', async () => {
      await using silent = await startService({ mail: false })
      const response = await silent.fetch(PATH, json({ email: 'ada@example.com', deviceId: 'x' }))
      expect(await outcomeOf(response)).toBe('503 email_unavailable')
      expect(await silent.database.prisma.deviceLogin.count()).toBe(0)
    })
  })
})
