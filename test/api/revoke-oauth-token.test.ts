import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { people } from '../support/people.ts'
import { bearerOf, bytes, form, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/oauth/revoke'
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const revoke = (fields: Record<string, string>, headers = {}) => service.fetch(PATH, form(fields, headers))
const refresh = async (account: string, refreshToken: string) =>
  outcomeOf(await service.fetch('/v1/auth/token/refresh', json({ account, refreshToken })))
const statusOf = async (accessToken: string) => (await service.clientOf(accessToken).GET('/device')).response.status

describe('revokeOAuthToken', () => {
  describe('200', () => {
    it.each([
      ['a refresh token', 'refreshToken', {}],
      ['an access token', 'accessToken', {}],
      ['a refresh token with a wrong hint', 'refreshToken', { token_type_hint: 'access_token' }],
    ] as const)('ends the session of %s, and no other session', async (_name, kind, fields) => {
      const email = persons.next()
      const ended = await service.signIn(email, { deviceId: 'ended' })
      const other = await service.signIn(email, { deviceId: 'other' })
      expect(await statusOf(ended.accessToken)).toBe(200)

      const response = await revoke({ token: ended[kind], client_id: 'my-cli', ...fields })
      expect([response.status, await response.json()]).toEqual([200, { ok: true }])
      expect(await statusOf(ended.accessToken)).toBe(401)
      expect(await refresh(email, ended.refreshToken)).toBe('401 unauthorized')
      expect(await statusOf(other.accessToken)).toBe(200)
      expect(await service.fetch('/v1/models', { headers: bearerOf(ended.accessToken) })).toHaveProperty('status', 401)
    })

    it('is also the answer to a token that was revoked before', async () => {
      const { refreshToken } = await service.signIn(persons.next())
      expect((await revoke({ token: refreshToken })).status).toBe(200)
      expect((await revoke({ token: refreshToken })).status).toBe(200)
    })

    it.each(['unknown', 'svcr_AQEBkmZ3', 'svck_some-key', 'eyJhbGciOiJub25lIn0.e30.'])(
      'is also the answer to the unknown token %s',
      async (token) => {
        expect((await revoke({ token })).status).toBe(200)
      },
    )

    it('leaves the session alone when the signature of the token is wrong', async () => {
      const { accessToken, refreshToken } = await service.signIn(persons.next())
      for (const token of [accessToken, refreshToken]) {
        const changed = token.slice(0, -8) + (token.endsWith('AAAAAAAA') ? 'BBBBBBBB' : 'AAAAAAAA')
        expect((await revoke({ token: changed })).status).toBe(200)
      }
      expect(await statusOf(accessToken)).toBe(200)
    })
  })

  describe('400', () => {
    it.each([
      ['without a token', { client_id: 'my-cli' }],
      ['with an empty token', { token: '' }],
      ['with a token of 4097 characters', { token: 'x'.repeat(4097) }],
    ])('refuses a form %s', async (_name, fields) => {
      expect(await outcomeOf(await revoke(fields as Record<string, string>))).toBe('400 invalid_request')
    })
  })

  describe('403', () => {
    it('refuses a request from another site', async () => {
      const { accessToken, refreshToken } = await service.signIn(persons.next())
      const response = await revoke({ token: refreshToken }, { origin: 'https://evil.example' })
      expect(await outcomeOf(response)).toBe('403 access_denied')
      expect(await statusOf(accessToken)).toBe(200)
    })
  })

  describe('413', () => {
    it('refuses a body of 17 KiB', async () => {
      expect(await outcomeOf(await revoke({ token: 'x'.repeat(17 * 1024) }))).toBe('413 invalid_request')
    })
  })

  describe('415', () => {
    it('refuses JSON', async () => {
      expect(await outcomeOf(await service.fetch(PATH, bytes('{"token":"x"}', 'application/json')))).toBe(
        '415 invalid_request',
      )
    })
  })

  describe('503', () => {
    it('answers 503 when the database cannot be reached', async () => {
      await using alone = await startService()
      const { refreshToken } = await alone.signIn('ada@example.com')
      await alone.database.close()
      const response = await alone.fetch(PATH, form({ token: refreshToken }))
      expect(await outcomeOf(response)).toBe('503 temporarily_unavailable')
    })
  })
})
