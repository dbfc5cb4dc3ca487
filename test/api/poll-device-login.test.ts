import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { directoryOf, mailTokenOf, people } from '../support/people.ts'
import { bytes, expectData, expectOk, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/v1/auth/device/poll'
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const poll = (deviceCode: string) => service.client.POST(PATH, { body: { deviceCode } })

describe('pollDeviceLogin', () => {
  describe('200', () => {
    it('returns the tokens of the account that approved', async () => {
      const email = persons.next()
      const { deviceCode } = await service.startLogin(email, { deviceId: 'laptop-7' })
      await service.approveByMail(email)

      const { data } = await poll(deviceCode)

      expect(data).toEqual({
        account: email,
        organization: 'acme',
        team: '@acme/core',
        deviceId: 'laptop-7',
        accessToken: expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/),
        refreshToken: expect.stringMatching(/^svcr_[\w-]{72}$/),
        expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/),
      })
    })

    it('answers an approved login also when the device polls too soon', async () => {
      const email = persons.next()
      const { deviceCode } = await service.startLogin(email)
      expect((await poll(deviceCode)).response.status).toBe(428)
      await service.approveByMail(email)
      expect((await poll(deviceCode)).response.status).toBe(200)
      expect((await poll(deviceCode)).response.status).toBe(200)
    })

    it('in cookie mode sets the tokens as HTTP-only cookies and redacts them in the JSON', async () => {
      const email = persons.next()
      const { deviceCode } = await service.startLogin(email)
      await service.approveByMail(email)
      const response = await service.fetch(PATH, json({ deviceCode }, { 'x-svc-use-cookies': 'true' }))

      expect(await response.json()).toMatchObject({ accessToken: '[redacted]', refreshToken: '[redacted]' })
      expect(response.headers.getSetCookie().map((cookie) => cookie.replace(/=[^;]+/, ''))).toEqual([
        expect.stringMatching(/^svc_access;.*HttpOnly/),
        expect.stringMatching(/^svc_refresh;.*HttpOnly/),
      ])
    })

    it('is not cacheable', async () => {
      const email = persons.next()
      const { deviceCode } = await service.startLogin(email)
      await service.approveByMail(email)
      expect((await poll(deviceCode)).response.headers.get('cache-control')).toBe('no-store')
    })
  })

  describe('400', () => {
    it.each<[string, RequestInit]>([
      ['no code', json({})],
      ['an empty code', json({ deviceCode: '' })],
      ['a number', json({ deviceCode: 1 })],
      ['an unknown field', json({ deviceCode: 'a', userCode: 'b' })],
      ['no body', { method: 'POST' }],
      ['a cookie mode that is neither true nor false', json({ deviceCode: 'a' }, { 'x-svc-use-cookies': 'yes' })],
    ])('refuses %s', async (_, init) => {
      expect(await outcomeOf(await service.fetch(PATH, init))).toBe('400 invalid_request')
    })
  })

  describe('401', () => {
    it('refuses an unknown device code', async () => {
      expect((await poll('svcd_unknown')).error?.error.code).toBe('unauthorized')
    })

    it('refuses a code after the device has refreshed its tokens', async () => {
      const email = persons.next()
      const { deviceCode } = await service.startLogin(email)
      await service.approveByMail(email)
      const { refreshToken } = expectData('The poll', await poll(deviceCode))
      const body = { account: email, refreshToken }
      expectData('The refresh', await service.client.POST('/v1/auth/token/refresh', { body }))
      expect((await poll(deviceCode)).error?.error).toMatchObject({
        code: 'unauthorized',
        message: 'This device code was already used, or its device was signed out. Start the login again.',
      })
    })

    it('refuses a code after the device was signed out', async () => {
      const email = persons.next()
      const { deviceCode } = await service.startLogin(email)
      await service.approveByMail(email)
      const { accessToken } = expectData('The poll', await poll(deviceCode))
      expectData('The sign-out', await service.clientOf(accessToken).POST('/v1/auth/logout'))
      expect((await poll(deviceCode)).error?.error.code).toBe('unauthorized')
    })
  })

  describe('403', () => {
    it('answers access_denied when the login was denied', async () => {
      const email = persons.next()
      const { deviceCode } = await service.startLogin(email)
      const denial = json({ token: mailTokenOf(service, email), action: 'deny' })
      await expectOk('The denial', service.fetch('/v1/auth/magic/consume', denial))
      expect((await poll(deviceCode)).error?.error.code).toBe('access_denied')
    })

    it.each(['before', 'after'])(
      'answers not_invited when the invitation was withdrawn %s the approval',
      async (when) => {
        await using other = await startService()
        const { deviceCode } = await other.startLogin('ada@example.com')
        if (when === 'after') await other.approveByMail('ada@example.com')
        await other.applyDirectory(directoryOf([]))
        const { error } = await other.client.POST(PATH, { body: { deviceCode } })
        expect(error?.error.code).toBe('not_invited')
      },
    )

    it('refuses a request from another site', async () => {
      const response = await service.fetch(PATH, json({ deviceCode: 'a' }, { origin: 'https://evil.example' }))
      expect(await outcomeOf(response)).toBe('403 forbidden')
    })
  })

  describe('410', () => {
    it('answers expired when the login was not approved in time', async () => {
      const { deviceCode } = await service.startLogin(persons.next())
      service.clock.advance({ seconds: 600 })
      expect((await poll(deviceCode)).error?.error.code).toBe('expired')
    })

    it('expires the oldest pending login of an account that has more than ten', async () => {
      const email = persons.next()
      const codes: string[] = []
      for (let count = 0; count < 11; count += 1) {
        codes.push((await service.startLogin(email)).deviceCode)
        service.clock.advance({ ms: 1 })
      }
      expect((await poll(codes[0] ?? '')).error?.error.code).toBe('expired')
      expect((await poll(codes[1] ?? '')).response.status).toBe(428)
      expect((await poll(codes[10] ?? '')).response.status).toBe(428)
    })
  })

  describe('413', () => {
    it('refuses a body of 17 KiB', async () => {
      const response = await service.fetch(PATH, json({ deviceCode: 'a'.repeat(17 * 1024) }))
      expect(await outcomeOf(response)).toBe('413 payload_too_large')
    })
  })

  describe('415', () => {
    it('refuses a form', async () => {
      const response = await service.fetch(PATH, bytes('deviceCode=a', 'application/x-www-form-urlencoded'))
      expect(await outcomeOf(response)).toBe('415 unsupported_media_type')
    })
  })

  describe('428', () => {
    it('answers authorization_pending until the login is approved', async () => {
      const { deviceCode } = await service.startLogin(persons.next())
      const { error, response } = await poll(deviceCode)
      expect(response.status).toBe(428)
      expect(error?.error.code).toBe('authorization_pending')
    })

    it('accepts polls that are up to 2 percent too early', async () => {
      const { deviceCode } = await service.startLogin(persons.next())
      const seen = new Set<number>()
      for (let polls = 0; polls < 20; polls += 1) {
        seen.add((await poll(deviceCode)).response.status)
        service.clock.advance({ ms: 4900 })
      }
      expect([...seen]).toEqual([428])
    })
  })

  describe('429', () => {
    it('refuses a second poll within the interval with Retry-After', async () => {
      const { deviceCode } = await service.startLogin(persons.next())
      expect((await poll(deviceCode)).response.status).toBe(428)
      service.clock.advance({ ms: 2500 })
      const tooSoon = await poll(deviceCode)

      expect(tooSoon.response.status).toBe(429)
      expect(tooSoon.error?.error.code).toBe('rate_limited')
      expect(tooSoon.response.headers.get('retry-after')).toBe('3')
    })

    it('does not extend the interval after a refused poll', async () => {
      const { deviceCode } = await service.startLogin(persons.next())
      expect((await poll(deviceCode)).response.status).toBe(428)
      for (const second of [1, 2, 3, 4]) {
        service.clock.advance({ seconds: 1 })
        expect((await poll(deviceCode)).response.status, `after ${second} s`).toBe(429)
      }
      service.clock.advance({ seconds: 1 })
      expect((await poll(deviceCode)).response.status).toBe(428)
    })

    it('accepts a poll after the clock was set back', async () => {
      const { deviceCode } = await service.startLogin(persons.next())
      expect((await poll(deviceCode)).response.status).toBe(428)
      service.clock.advance({ seconds: -3600 })
      const after = await poll(deviceCode)
      service.clock.advance({ seconds: 3600 })
      expect(after.response.status).toBe(428)
    })
  })
})
