import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { directoryOf, people } from '../support/people.ts'
import { bytes, expectData, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/v1/auth/token/refresh'
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const refresh = (account: string, refreshToken: string) =>
  service.client.POST(PATH, { body: { account, refreshToken } })

describe('refreshTokens', () => {
  describe('200', () => {
    it('returns new tokens for the same device, without the organization', async () => {
      const email = persons.next()
      const { refreshToken } = await service.signIn(email, { deviceId: 'laptop-9' })
      const { data } = await refresh(email, refreshToken)
      expect(data).toEqual({
        account: email,
        team: '@acme/core',
        deviceId: 'laptop-9',
        accessToken: expect.stringMatching(/^eyJ/),
        refreshToken: expect.stringMatching(/^svcr_/),
        expiresAt: expect.stringMatching(/Z$/),
      })
      expect(data?.refreshToken).not.toBe(refreshToken)
    })

    it('returns the expiry that the access token has, to the second', async () => {
      const email = persons.next()
      const { refreshToken } = await service.signIn(email)
      const { data } = await refresh(email, refreshToken)
      const payload = data?.accessToken.split('.')[1] ?? ''
      const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { exp: number }
      expect(new Date(data?.expiresAt ?? '').getTime()).toBe(exp * 1000)
    })

    it('accepts the account in upper case', async () => {
      const email = persons.next()
      const { refreshToken } = await service.signIn(email)
      expect((await refresh(` ${email.toUpperCase()} `, refreshToken)).response.status).toBe(200)
    })

    it.each([
      ['', {}],
      [', also with the type of one', { 'content-type': 'application/json' }],
    ])('in cookie mode reads and replaces the cookies without a body%s', async (_, type) => {
      const email = persons.next()
      const { refreshToken } = await service.signIn(email)
      const response = await service.fetch(PATH, {
        method: 'POST',
        headers: { 'x-svc-use-cookies': 'true', cookie: `svc_refresh=${refreshToken}`, ...type },
      })
      expect(await response.json()).toMatchObject({ account: email, refreshToken: '[redacted]' })
      const next = response.headers.getSetCookie().find((cookie) => cookie.startsWith('svc_refresh='))
      expect(next).toBeDefined()
      expect(next).not.toContain(refreshToken)
    })
  })

  describe('400', () => {
    it.each<[string, RequestInit]>([
      ['no account', json({ refreshToken: 'svcr_x' })],
      ['no token', json({ account: 'person-1@example.com' })],
      ['an empty object', json({})],
      ['an unknown field', json({ account: 'person-1@example.com', refreshToken: 'a', scope: 'all' })],
      ['broken JSON', bytes('{', 'application/json')],
    ])('refuses %s', async (_, init) => {
      expect(await outcomeOf(await service.fetch(PATH, init))).toBe('400 invalid_request')
    })
  })

  describe('401', () => {
    it.each<[string, RequestInit]>([
      ['neither body nor cookie', { method: 'POST' }],
      ['cookie mode without a cookie', { method: 'POST', headers: { 'x-svc-use-cookies': 'true' } }],
      ['an unknown token', json({ account: 'person-1@example.com', refreshToken: 'svcr_made-up' })],
      [
        'an unknown token in the right format',
        json({ account: 'person-1@example.com', refreshToken: `svcr_${'A'.repeat(72)}` }),
      ],
    ])('refuses %s', async (_, init) => {
      const response = await service.fetch(PATH, init)
      expect(await outcomeOf(response)).toBe('401 unauthorized')
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
    })

    it('refuses a valid token with another account, and the token stays valid', async () => {
      const [email, other] = [persons.next(), persons.next()]
      const { refreshToken } = await service.signIn(email)
      expect((await refresh(other, refreshToken)).error?.error.code).toBe('unauthorized')
      const { data } = await refresh(email, refreshToken)
      expect(data?.refreshToken).toBeDefined()
    })

    it('refuses the token of a signed-out device', async () => {
      const email = persons.next()
      const { accessToken, refreshToken } = await service.signIn(email)
      expectData('The sign-out', await service.clientOf(accessToken).POST('/v1/auth/logout'))
      expect((await refresh(email, refreshToken)).error?.error.code).toBe('unauthorized')
    })

    it('says that the refresh token is refused, in the same words for an unknown one and an ended one', async () => {
      const email = persons.next()
      const { accessToken, refreshToken } = await service.signIn(email)
      expectData('The sign-out', await service.clientOf(accessToken).POST('/v1/auth/logout'))
      const messages = [await refresh(email, refreshToken), await refresh(email, 'svcr_made-up')].map(
        ({ error }) => error?.error.message,
      )
      const message = 'The refresh token is unknown, already used or revoked. Sign in again.'
      expect(messages).toEqual([message, message])
    })

    it('refuses the token of a withdrawn invitation, also after inviting again', async () => {
      await using other = await startService()
      const { refreshToken } = await other.signIn('ada@example.com')
      const again = async () => outcomeOf(await other.fetch(PATH, json({ account: 'ada@example.com', refreshToken })))
      await other.applyDirectory(directoryOf([]))
      expect(await again()).toBe('401 unauthorized')
      await other.applyDirectory(directoryOf(['ada@example.com']))
      expect(await again()).toBe('401 unauthorized')
    })
  })

  describe('403', () => {
    it('refuses a request from another site, and the token stays valid', async () => {
      const email = persons.next()
      const { refreshToken } = await service.signIn(email)
      const foreign = await service.fetch(
        PATH,
        json({ account: email, refreshToken }, { origin: 'https://evil.example' }),
      )
      expect(await outcomeOf(foreign)).toBe('403 forbidden')
      expect((await refresh(email, refreshToken)).response.status).toBe(200)
    })
  })

  describe('410', () => {
    it('refuses the token of a device that was not used for too long', async () => {
      const email = persons.next()
      const { refreshToken } = await service.signIn(email)
      service.clock.advance({ days: 30 })
      const { error } = await refresh(email, refreshToken)
      expect(error?.error).toMatchObject({
        code: 'expired',
        message: 'The refresh token has expired. Sign in again.',
      })
    })
  })

  describe('413', () => {
    it('refuses a body of 17 KiB', async () => {
      const response = await service.fetch(PATH, json({ account: 'a', refreshToken: 'a'.repeat(17 * 1024) }))
      expect(await outcomeOf(response)).toBe('413 payload_too_large')
    })
  })

  describe('415', () => {
    it('refuses a form', async () => {
      const response = await service.fetch(PATH, bytes('account=a', 'application/x-www-form-urlencoded'))
      expect(await outcomeOf(response)).toBe('415 unsupported_media_type')
    })
  })
})
