import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { people, signInBrowser } from '../support/people.ts'
import { describeRefusals } from '../support/refusals.ts'
import { expectOk, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService
let mine: { authorization: string; id: string }

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
  mine = await device(persons.next())
})
afterAll(() => service[Symbol.asyncDispose]())

/** A signed-in device, with its id in the list of devices. */
async function device(email: string, deviceId = 'laptop-1') {
  const tokens = await service.signIn(email, { deviceId })
  const { data } = await service.clientOf(tokens.accessToken).GET('/v1/devices')
  const id = data?.devices.find(({ current }) => current)?.id ?? ''
  return { ...tokens, email, authorization: `Bearer ${tokens.accessToken}`, id }
}

const revoke = (id: string, authorization: string) =>
  service.fetch(`/v1/devices/${id}`, { method: 'DELETE', headers: { authorization } })

describe('revokeDevice', () => {
  describe('200', () => {
    it('ends the tokens of the device at control plane and gateway, and of no other device', async () => {
      const email = persons.next()
      const lost = await device(email, 'lost')
      const kept = await device(email, 'kept')
      expect((await service.clientOf(lost.accessToken).GET('/v1/models')).response.status).toBe(200)

      expect(await (await revoke(lost.id, kept.authorization)).json()).toEqual({ ok: true })

      const body = { account: email, refreshToken: lost.refreshToken }
      const refreshed = await service.client.POST('/v1/auth/token/refresh', { body })
      expect(refreshed.response.status).toBe(401)
      expect((await service.clientOf(lost.accessToken).GET('/device')).response.status).toBe(401)
      expect((await service.clientOf(lost.accessToken).GET('/v1/models')).response.status).toBe(401)
      expect((await service.clientOf(kept.accessToken).GET('/v1/models')).response.status).toBe(200)
    })

    it('ends the tokens at the gateway at once, also when the id is in capital letters', async () => {
      const own = await device(persons.next())
      const models = async () => (await service.clientOf(own.accessToken).GET('/v1/models')).response.status
      expect(await models()).toBe(200)
      await expectOk('Signing the device out', revoke(own.id.toUpperCase(), own.authorization))
      expect(await models()).toBe(401)
    })

    it('ends a browser that a link signed in', async () => {
      const email = persons.next()
      const own = await device(email)
      const cookie = await signInBrowser(service, email)
      const listed = await service.fetch('/v1/devices', { headers: { cookie } })
      const { devices } = (await listed.json()) as { devices: { id: string; current: boolean }[] }
      const id = devices.find(({ current }) => current)?.id ?? ''
      await expectOk('Signing the browser out', revoke(id, own.authorization))
      expect((await service.fetch('/device', { headers: { cookie } })).status).toBe(401)
      expect(await outcomeOf(await revoke(id, own.authorization))).toBe('404 not_found')
    })

    it('writes one audit event', async () => {
      const own = await device(persons.next())
      await expectOk('Signing the device out', revoke(own.id, own.authorization))
      const rows = await service.database.prisma.auditEvent.findMany({
        where: { subjectId: own.id },
        orderBy: { id: 'asc' },
      })
      expect(rows.map(({ kind }) => kind)).toEqual(['device_session.opened', 'device_session.revoked'])
    })
  })

  describe('400', () => {
    it('refuses an id that is not a UUID', async () => {
      expect(await outcomeOf(await revoke('laptop-1', mine.authorization))).toBe('400 invalid_request')
    })
  })

  describeRefusals({
    service: () => service,
    method: 'DELETE',
    path: () => `/v1/devices/${mine.id}`,
    by: () => ({ authorization: mine.authorization }),
  })

  describe('404', () => {
    it('answers a device of another account like a signed-out one, and does not end its session', async () => {
      const email = persons.next()
      const [theirs, gone, own] = [
        await device(persons.next()),
        await device(email, 'gone'),
        await device(email, 'own'),
      ]
      await expectOk('Signing the device out', revoke(gone.id, own.authorization))
      const foreign = await revoke(theirs.id, own.authorization)
      expect([foreign.status, await foreign.text()]).toEqual([
        404,
        await (await revoke(gone.id, own.authorization)).text(),
      ])
      expect((await service.clientOf(theirs.accessToken).GET('/device')).response.status).toBe(200)
    })
  })
})
