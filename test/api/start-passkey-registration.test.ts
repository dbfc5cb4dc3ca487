import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPasskey, newAuthenticator, startRegistration } from '../support/passkeys.ts'
import { people, signInBrowser } from '../support/people.ts'
import { describeRefusals } from '../support/refusals.ts'
import { bearerOf, expectData, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/v1/auth/passkeys/register/start'
const persons = people()
let service: TestService
let authorization: string

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
  authorization = `Bearer ${(await service.signIn(persons.next())).accessToken}`
})
afterAll(() => service[Symbol.asyncDispose]())

const signIn = async (email = persons.next()) => bearerOf((await service.signIn(email)).accessToken)

describe('startPasskeyRegistration', () => {
  describe('200', () => {
    it('requires a discoverable credential and user verification', async () => {
      const email = persons.next()
      const options = await startRegistration(service, await signIn(email))
      expect(options).toMatchObject({
        rp: { id: 'localhost' },
        user: { name: email, displayName: email },
        timeout: 300_000,
        excludeCredentials: [],
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        attestation: 'none',
      })
      expect(options.pubKeyCredParams.map(({ alg }) => alg)).toEqual([-8, -7, -257])
      expect(Buffer.from(options.challenge, 'base64url')).toHaveLength(32)
    })

    it('has the same random user handle each time, without the email address', async () => {
      const email = persons.next()
      const by = await signIn(email)
      const [first, second] = [await startRegistration(service, by), await startRegistration(service, by)]
      expect(first.user.id).toBe(second.user.id)
      expect(first.challenge).not.toBe(second.challenge)
      expect(Buffer.from(first.user.id, 'base64url').toString()).not.toContain('person')
    })

    it('excludes the credentials that the account already has', async () => {
      const by = await signIn()
      await addPasskey(service, by, newAuthenticator())
      expect((await startRegistration(service, by)).excludeCredentials).toHaveLength(1)
    })

    it('accepts a browser session and a missing body', async () => {
      const cookie = await signInBrowser(service, persons.next())
      expect((await service.fetch(PATH, { method: 'POST', headers: { cookie } })).status).toBe(200)
    })
  })

  describeRefusals({ service: () => service, method: 'POST', path: PATH, by: () => ({ authorization }), body: {} })

  describe('403', () => {
    it('refuses a sign-in that is older than 15 minutes', async () => {
      await using own = await startService({ env: { SVC_ACCESS_TOKEN_SECONDS: '3600' } })
      const by = bearerOf((await own.signIn('ada@example.com')).accessToken)
      const ask = () => own.fetch(PATH, json({}, by))

      own.clock.advance({ seconds: 900 })
      expect((await ask()).status).toBe(200)
      own.clock.advance({ ms: 1 })
      expect(await outcomeOf(await ask())).toBe('403 reauthenticate')
    })

    it('refuses a device that an older session approved', async () => {
      await using own = await startService()
      const first = await own.signIn('ada@example.com')
      const { deviceCode, userCode } = await own.startLogin('ada@example.com', { deviceId: 'second' })
      expectData('The approval', await own.clientOf(first.accessToken).POST('/device', { body: { userCode } }))
      const { data } = await own.client.POST('/v1/auth/device/poll', { body: { deviceCode } })

      const response = await own.fetch(PATH, json({}, bearerOf(data?.accessToken ?? '')))
      expect(await outcomeOf(response)).toBe('403 reauthenticate')
    })
  })

  describe('409', () => {
    it('refuses an eleventh passkey', async () => {
      const by = await signIn()
      for (let count = 0; count < 10; count++) await addPasskey(service, by, newAuthenticator())
      expect(await outcomeOf(await service.fetch(PATH, json({}, by)))).toBe('409 conflict')
    })
  })
})
