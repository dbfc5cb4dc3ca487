import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPasskey, newAuthenticator, signInWithPasskey } from '../support/passkeys.ts'
import { people } from '../support/people.ts'
import { describeRefusals } from '../support/refusals.ts'
import { bearerOf, expectOk, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

async function owner(email = persons.next()) {
  const authorization = `Bearer ${(await service.signIn(email)).accessToken}`
  const authenticator = newAuthenticator()
  const id = await addPasskey(service, { authorization }, authenticator, 'Kitchen')
  return { email, authorization, authenticator, id }
}

const remove = (id: string, authorization: string) =>
  service.fetch(`/v1/auth/passkeys/${id}`, { method: 'DELETE', headers: { authorization } })

describe('deletePasskey', () => {
  describe('200', () => {
    it('ends sign-ins with the passkey, notifies the account by email and writes an audit event', async () => {
      const { email, authorization, authenticator, id } = await owner()
      expect(await (await remove(id, authorization)).json()).toEqual({ ok: true })
      expect(await outcomeOf(await signInWithPasskey(service, authenticator))).toBe('401 unauthorized')
      const [mail] = await service.mailbox.waitFor(email, 'A passkey was removed')
      expect(mail?.text).toContain('Kitchen')
      const rows = await service.database.prisma.auditEvent.findMany({
        where: { subjectId: id },
        orderBy: { id: 'asc' },
      })
      expect(rows.map(({ kind }) => kind)).toEqual(['passkey.added', 'passkey.removed'])
    })
  })

  describe('400', () => {
    it('refuses an id that is not a UUID', async () => {
      const { authorization } = await owner()
      expect(await outcomeOf(await remove('1', authorization))).toBe('400 invalid_request')
    })
  })

  let refusedFor: Awaited<ReturnType<typeof owner>>
  beforeAll(async () => {
    refusedFor = await owner()
  })
  describeRefusals({
    service: () => service,
    method: 'DELETE',
    path: () => `/v1/auth/passkeys/${refusedFor.id}`,
    by: () => ({ authorization: refusedFor.authorization }),
  })

  describe('403', () => {
    it('refuses a sign-in that is older than 15 minutes', async () => {
      await using own = await startService({ env: { SVC_ACCESS_TOKEN_SECONDS: '3600' } })
      const by = bearerOf((await own.signIn('ada@example.com')).accessToken)
      const id = await addPasskey(own, by, newAuthenticator())
      own.clock.advance({ seconds: 901 })
      const response = await own.fetch(`/v1/auth/passkeys/${id}`, { method: 'DELETE', headers: { ...by } })
      expect(await outcomeOf(response)).toBe('403 reauthenticate')
    })
  })

  describe('404', () => {
    it('answers a passkey of another account like a deleted one, and leaves it to its owner', async () => {
      const [mine, theirs] = [await owner(), await owner()]
      const foreign = await remove(theirs.id, mine.authorization)
      await expectOk('Deleting the passkey', remove(mine.id, mine.authorization))
      const gone = await remove(mine.id, mine.authorization)
      expect([foreign.status, gone.status]).toEqual([404, 404])
      expect(await foreign.text()).toBe(await gone.text())
      expect((await signInWithPasskey(service, theirs.authenticator)).status).toBe(200)
    })
  })
})
