import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mailTokenOf, people } from '../support/people.ts'
import { bytes, expectOk, form, json, messageOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/v1/auth/magic/consume'
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

async function started(on = service, email = persons.next()) {
  const login = await on.startLogin(email, { deviceId: 'laptop-3', deviceName: 'Laptop' })
  return { ...login, email, token: mailTokenOf(on, email) }
}

const poll = (deviceCode: string, on = service) => on.client.POST('/v1/auth/device/poll', { body: { deviceCode } })

describe('consumeMagicLink', () => {
  describe('200', () => {
    it('approves the pending login and returns its account and device', async () => {
      const { token, email, deviceCode } = await started()
      const { data } = await service.client.POST(PATH, { body: { token } })
      expect(data).toEqual({
        approved: true,
        user: { email, team: '@acme/core' },
        device: { deviceId: 'laptop-3', deviceName: 'Laptop' },
      })
      expect((await poll(deviceCode)).response.status).toBe(200)
    })

    it('signs the browser in with a session cookie', async () => {
      const { token, email } = await started()
      const response = await service.fetch(PATH, json({ token }))
      const cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
      const device = await service.fetch('/device', { headers: { cookie } })
      expect(await device.json()).toMatchObject({ authenticated: true, user: { email } })
    })

    it('answers the form of a browser with a page', async () => {
      const { token, deviceCode } = await started()
      const response = await service.fetch(PATH, form({ token, action: 'approve' }))
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toContain('text/html')
      expect(await response.text()).toContain('Approved')
      expect((await poll(deviceCode)).response.status).toBe(200)
    })

    it('answers the form of a program with JSON', async () => {
      const { token } = await started()
      const response = await service.fetch(PATH, form({ token }, { accept: '*/*' }))
      expect(await response.json()).toMatchObject({ approved: true })
    })

    it('denies the login without signing the browser in', async () => {
      const { token, deviceCode } = await started()
      const response = await service.fetch(PATH, json({ token, action: 'deny' }))
      expect(await response.json()).toMatchObject({ approved: false })
      expect(response.headers.getSetCookie()).toEqual([])
      expect((await poll(deviceCode)).error?.error.code).toBe('access_denied')
    })
  })

  describe('400', () => {
    it.each<[string, RequestInit]>([
      ['no token', json({})],
      ['an empty token', json({ token: '' })],
      ['a number', json({ token: 7 })],
      ['a token of 5000 characters', json({ token: 'a'.repeat(5000) })],
      ['an unknown action', json({ token: 'a', action: 'maybe' })],
      ['an unknown field', json({ token: 'a', next: 'https://evil.example' })],
      [
        'two tokens in a form',
        form(
          [
            ['token', 'a'],
            ['token', 'b'],
          ],
          { accept: '*/*' },
        ),
      ],
      ['a list in a form', form({ 'token[]': 'a' }, { accept: '*/*' })],
      ['broken JSON', bytes('{"token":', 'application/json')],
    ])('refuses %s', async (_, init) => {
      expect(await outcomeOf(await service.fetch(PATH, init))).toBe('400 invalid_request')
    })

    it('answers a browser with a page', async () => {
      const response = await service.fetch(PATH, form({ action: 'approve' }))
      expect(response.status).toBe(400)
      expect(response.headers.get('content-type')).toContain('text/html')
    })

    it('in approval mode code refuses a wrong code, and the link stays valid', async () => {
      await using strict = await startService({ env: { SVC_APPROVAL_MODE: 'code' } })
      const { token, userCode, deviceCode } = await started(strict, 'ada@example.com')
      expect(strict.mailbox.newest('ada@example.com').text).not.toContain(userCode)

      for (const typed of [{}, { userCode: 'BBBB-BBBB' }]) {
        const wrong = await strict.fetch(PATH, form({ token, ...typed }))
        expect(wrong.status).toBe(400)
        const page = await wrong.text()
        expect(page).toContain('does not match')
        // The form is still there, so the person types again without going back to the email.
        expect(page).toContain(`name="token" value="${token}"`)
        expect(page).toContain('name="userCode"')
        expect(page).not.toContain(userCode)
      }
      // A scanner that is no browser may ask for anything.
      expect((await strict.fetch(PATH, form({ token }, { accept: '*/*' }))).status).toBe(400)
      expect((await poll(deviceCode, strict)).response.status).toBe(428)
      const right = await strict.fetch(PATH, form({ token, userCode: userCode.toLowerCase().replace('-', ' ') }))
      expect(right.status).toBe(200)
      expect((await poll(deviceCode, strict)).response.status).toBe(200)
    })
  })

  describe('401', () => {
    it('refuses a used link and an unknown link', async () => {
      const { token } = await started()
      await expectOk('The first use of the link', service.fetch(PATH, json({ token })))
      const again = await service.fetch(PATH, json({ token }))
      expect(await outcomeOf(again)).toBe('401 unauthorized')
      expect(await messageOf(again)).toContain('used before')
      expect(await outcomeOf(await service.fetch(PATH, json({ token: 'svcm_never' })))).toBe('401 unauthorized')
    })

    it('tells a person who clicked twice that the login was approved, and later that the link was used', async () => {
      const { token } = await started()
      await expectOk('The first click', service.fetch(PATH, form({ token })))
      const twice = await service.fetch(PATH, form({ token }))
      expect(twice.status).toBe(401)
      expect(await twice.text()).toContain('Your device finishes signing in within seconds')
      expect(twice.headers.get('www-authenticate')).toBe('Bearer')
      expect(twice.headers.get('x-should-retry')).toBe('false')

      service.clock.advance({ seconds: 61 })
      expect(await (await service.fetch(PATH, form({ token }))).text()).toContain('used already')
    })

    it('refuses the link of a denied login', async () => {
      const { token } = await started()
      await expectOk('The denial', service.fetch(PATH, json({ token, action: 'deny' })))
      expect(await outcomeOf(await service.fetch(PATH, json({ token })))).toBe('401 unauthorized')
    })
  })

  describe('403', () => {
    it('refuses a request from another site, and the login stays pending', async () => {
      const { token, deviceCode } = await started()
      const headers = { origin: 'https://evil.example' }
      expect(await outcomeOf(await service.fetch(PATH, json({ token }, headers)))).toBe('403 forbidden')
      const page = await service.fetch(PATH, form({ token }, headers))
      expect(page.status).toBe(403)
      expect(page.headers.getSetCookie()).toEqual([])
      expect((await poll(deviceCode)).response.status).toBe(428)
    })
  })

  describe('410', () => {
    it('refuses an expired link', async () => {
      const { token } = await started()
      service.clock.advance({ seconds: 600 })
      expect(await outcomeOf(await service.fetch(PATH, json({ token })))).toBe('410 expired')
      expect((await service.fetch(PATH, form({ token }))).status).toBe(410)
    })
  })

  describe('413', () => {
    it('refuses a body of 17 KiB', async () => {
      expect(await outcomeOf(await service.fetch(PATH, json({ token: 'a'.repeat(17 * 1024) })))).toBe(
        '413 payload_too_large',
      )
    })
  })

  describe('415', () => {
    it('refuses JSON as text/plain', async () => {
      const { token, deviceCode } = await started()
      const response = await service.fetch(PATH, bytes(JSON.stringify({ token }), 'text/plain'))
      expect(await outcomeOf(response)).toBe('415 unsupported_media_type')
      expect((await poll(deviceCode)).response.status).toBe(428)
    })
  })
})
