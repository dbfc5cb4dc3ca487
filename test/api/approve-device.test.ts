import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainUserCode } from '../../src/control/device-login/user-code.ts'
import { makeUserCodeStore } from '../../src/control/device-page/store.ts'
import { NIL_UUID } from '../../src/kernel/identifier.ts'
import { mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { bearerOf, bytes, expectJson, form, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const poll = (deviceCode: string) => service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })

async function signedIn() {
  const email = persons.next()
  const { accessToken } = await service.signIn(email, { deviceId: 'first' })
  const headers = bearerOf(accessToken)
  return { email, headers, decide: (body: object) => service.fetch('/device', json(body, headers)) }
}

describe('approveDevice', () => {
  describe('200', () => {
    it('approves the pending login of another device of the account', async () => {
      const { email, decide } = await signedIn()
      const { userCode, deviceCode } = await service.startLogin(email, { deviceId: 'second' })
      const response = await decide({ userCode })
      expect(await response.json()).toEqual({ approved: true, user: { email, team: '@acme/core' } })
      expect((await poll(deviceCode)).data).toMatchObject({ account: email, deviceId: 'second' })
    })

    it('accepts the code in lower case, with spaces and another dash', async () => {
      const { email, decide } = await signedIn()
      const { userCode } = await service.startLogin(email, { deviceId: 'second' })
      const typed = ` ${userCode.toLowerCase().replace('-', ' – ')} `
      expect((await decide({ userCode: typed })).status).toBe(200)
    })

    it('approves with a browser session', async () => {
      const email = persons.next()
      const cookie = await signInBrowser(service, email)
      const { userCode, deviceCode } = await service.startLogin(email, { deviceId: 'second' })
      expect((await service.fetch('/device', json({ userCode }, { cookie }))).status).toBe(200)
      expect((await poll(deviceCode)).response.status).toBe(200)
    })

    it('denies a login with action: deny', async () => {
      const { email, decide } = await signedIn()
      const { userCode, deviceCode } = await service.startLogin(email, { deviceId: 'second' })
      expect(await (await decide({ userCode, action: 'deny' })).json()).toMatchObject({ approved: false })
      expect((await poll(deviceCode)).error?.error.code).toBe('access_denied')
    })

    it('answers a repeated request the same', async () => {
      const { email, decide } = await signedIn()
      for (const action of ['approve', 'deny']) {
        const { userCode } = await service.startLogin(email, { deviceId: `to-${action}` })
        const first = await decide({ userCode, action })
        expect(await (await decide({ userCode, action })).json()).toEqual(await first.json())
      }
    })

    it('leaves the link in the email valid for signing the browser in', async () => {
      const { email, decide } = await signedIn()
      const { userCode } = await service.startLogin(email, { deviceId: 'second' })
      await decide({ userCode })
      const response = await service.fetch('/v1/auth/magic/consume', json({ token: mailTokenOf(service, email) }))
      expect(response.status).toBe(200)
    })
  })

  describe('400', () => {
    it.each<[string, unknown]>([
      ['no code', {}],
      ['a code of seven characters', { userCode: 'BCDFGHJ' }],
      ['a code of 33 characters', { userCode: 'B'.repeat(33) }],
      ['a number', { userCode: 12_345_678 }],
      ['an unknown action', { userCode: 'BCDF-GHJK', action: 'postpone' }],
      ['an unknown field', { userCode: 'BCDF-GHJK', account: 'a@b.example' }],
    ])('refuses %s', async (_, body) => {
      const { headers } = await signedInOnce()
      expect(await outcomeOf(await service.fetch('/device', json(body, headers)))).toBe('400 invalid_request')
    })

    let once: ReturnType<typeof signedIn> | undefined
    const signedInOnce = () => (once ??= signedIn())
  })

  describe('401', () => {
    it.each(['/device', '/device/'])('answers authenticate_first before it reads the body: %s', async (path) => {
      const response = await service.fetch(path, bytes('{ not JSON', 'application/json'))
      expect(await outcomeOf(response)).toBe('401 authenticate_first')
      expect(await response.json()).toHaveProperty('auth.deviceStart')
    })
  })

  describe('403', () => {
    it('refuses a request from another site', async () => {
      const email = persons.next()
      const cookie = await signInBrowser(service, email)
      const { userCode, deviceCode } = await service.startLogin(email, { deviceId: 'second' })
      const response = await service.fetch('/device', json({ userCode }, { cookie, origin: 'https://evil.example' }))
      expect(await outcomeOf(response)).toBe('403 forbidden')
      expect((await poll(deviceCode)).response.status).toBe(428)
    })
  })

  describe('404', () => {
    it('answers a code of another account like a code that does not exist', async () => {
      const { decide } = await signedIn()
      const { userCode, deviceCode } = await service.startLogin(persons.next())
      const foreign = await decide({ userCode })
      const unknown = await decide({ userCode: 'BBBB-BBBB' })
      expect(await outcomeOf(foreign)).toBe('404 not_found')
      expect(await foreign.json()).toEqual(await unknown.json())
      expect((await poll(deviceCode)).response.status).toBe(428)
    })

    it('finds no login for a person whose team has just been removed', async () => {
      const { database } = service
      const { accountId } = await database.prisma.invitation.findFirstOrThrow()
      const started = service.fetch('/oauth/device_authorization', form({ client_id: 'tool' }))
      const login = await expectJson<{ user_code: string }>('The start of a login without an address', started)
      const caller = { accountId, sessionId: NIL_UUID, sessionKind: 'browser' } as const
      const found = await makeUserCodeStore(database).findByUserCode(plainUserCode(login.user_code), caller)
      expect(found).toBeNull()
    })
  })

  describe('409', () => {
    it.each([
      ['deny', 'approve'],
      ['approve', 'deny'],
    ])('does not take back: first %s, then %s', async (first, second) => {
      const { email, decide } = await signedIn()
      const { userCode } = await service.startLogin(email, { deviceId: 'second' })
      await decide({ userCode, action: first })
      expect(await outcomeOf(await decide({ userCode, action: second }))).toBe('409 conflict')
    })
  })

  describe('410', () => {
    it('refuses the code of an expired login', async () => {
      const email = persons.next()
      const cookie = await signInBrowser(service, email)
      const { userCode } = await service.startLogin(email, { deviceId: 'second' })
      service.clock.advance({ seconds: 600 })
      expect(await outcomeOf(await service.fetch('/device', json({ userCode }, { cookie })))).toBe('410 expired')
    })
  })

  describe('413', () => {
    it('refuses a body of 17 KiB', async () => {
      const { decide } = await signedIn()
      expect(await outcomeOf(await decide({ userCode: 'B'.repeat(17 * 1024) }))).toBe('413 payload_too_large')
    })
  })

  describe('415', () => {
    it('refuses JSON as text/plain, which a form of another site could send', async () => {
      const email = persons.next()
      const cookie = await signInBrowser(service, email)
      const { userCode, deviceCode } = await service.startLogin(email, { deviceId: 'second' })
      const response = await service.fetch('/device', bytes(JSON.stringify({ userCode }), 'text/plain', { cookie }))
      expect(await outcomeOf(response)).toBe('415 unsupported_media_type')
      expect((await poll(deviceCode)).response.status).toBe(428)
    })
  })
})
