import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPasskey, newAuthenticator } from '../support/passkeys.ts'
import { people } from '../support/people.ts'
import { describeRefusals } from '../support/refusals.ts'
import { bearerOf, outcomeOf, withMethod } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService
let authorization: string
let id: string

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
  const { accessToken } = await service.signIn(persons.next())
  authorization = `Bearer ${accessToken}`
  id = await addPasskey(service, bearerOf(accessToken), newAuthenticator(), 'before')
})
afterAll(() => service[Symbol.asyncDispose]())

const rename = (passkeyId: string, name: string, by: Record<string, string> = { authorization }) =>
  service.fetch(`/v1/auth/passkeys/${passkeyId}`, withMethod('PATCH', by, { name }))

describe('renamePasskey', () => {
  describe('200', () => {
    it('returns the passkey with the cleaned new name', async () => {
      const response = await rename(id, ' Old\u202E laptop ')
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ id, name: 'Old laptop' })
    })
  })

  describeRefusals({
    service: () => service,
    method: 'PATCH',
    path: () => `/v1/auth/passkeys/${id}`,
    by: () => ({ authorization }),
    body: { name: 'name' },
  })

  describe('400', () => {
    it('refuses a name without visible characters and an id that is not a UUID', async () => {
      expect(await outcomeOf(await rename(id, '\u200b'))).toBe('400 invalid_request')
      expect(await outcomeOf(await rename('1', 'name'))).toBe('400 invalid_request')
    })
  })

  describe('404', () => {
    it('answers a passkey of another account like an unknown one', async () => {
      const { accessToken } = await service.signIn(persons.next())
      const by = bearerOf(accessToken)
      const foreign = await rename(id, 'mine', by)
      const none = await rename('01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f', 'mine', by)
      expect([foreign.status, await foreign.text()]).toEqual([404, await none.text()])
    })
  })
})
