import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signInBrowser } from '../support/people.ts'
import { describeRefusals } from '../support/refusals.ts'
import { expectOk, outcomeOf } from '../support/requests.ts'
import { startTeam, INVITATIONS_PATH } from '../support/team.ts'
import type { TestTeam } from '../support/team.ts'

let team: TestTeam
let idle: string

beforeAll(async () => {
  team = await startTeam()
  idle = await team.invite('idle@example.com')
})
afterAll(() => team[Symbol.asyncDispose]())

const withdraw = (id: string) => team.asAdmin(`${INVITATIONS_PATH}/${id}`, { method: 'DELETE' })

describe('withdrawInvitation', () => {
  describe('200', () => {
    it('ends its devices, browsers and pending logins, also at the gateway', async () => {
      const email = 'leaving@example.com'
      const { service } = team
      const id = await team.invite(email)
      const device = await service.signIn(email)
      const cookie = await signInBrowser(service, email)
      const waiting = await service.startLogin(email, { deviceId: 'waiting' })
      expect((await service.clientOf(device.accessToken).GET('/v1/models')).response.status).toBe(200)

      expect(await (await withdraw(id)).json()).toEqual({ ok: true })

      expect((await service.clientOf(device.accessToken).GET('/v1/models')).response.status).toBe(401)
      expect((await service.fetch('/device', { headers: { cookie } })).status).toBe(401)
      const body = { account: email, refreshToken: device.refreshToken }
      expect((await service.client.POST('/v1/auth/token/refresh', { body })).response.status).toBe(401)
      const polled = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode: waiting.deviceCode } })
      expect(polled.error?.error.code).toBe('not_invited')
      const started = await service.client.POST('/v1/auth/device/start', { body: { email, deviceId: 'again' } })
      expect(started.error?.error.code).toBe('not_invited')
    })

    it('answers a login of the address like one of an address that was never invited', async () => {
      await expectOk('The withdrawal', withdraw(await team.invite('was@example.com')))
      const start = async (email: string) =>
        (await team.service.client.POST('/v1/auth/device/start', { body: { email, deviceId: 'd' } })).error
      expect(await start('was@example.com')).toEqual(await start('never@example.com'))
    })
  })

  describe('400', () => {
    it('refuses an id that is not a UUID', async () => {
      expect(await outcomeOf(await withdraw('idle@example.com'))).toBe('400 invalid_request')
    })
  })

  describeRefusals({
    service: () => team.service,
    method: 'DELETE',
    path: () => `${INVITATIONS_PATH}/${idle}`,
    by: () => team.admin,
  })

  describe('403', () => {
    it('refuses members of the team', async () => {
      const sent = team.asMember(`${INVITATIONS_PATH}/${idle}`, { method: 'DELETE' })
      expect(await outcomeOf(await sent)).toBe('403 forbidden')
    })
  })

  describe('404', () => {
    it('refuses withdrawn invitations and invitations of other teams', async () => {
      const gone = await team.invite('gone@example.com')
      await expectOk('The withdrawal', withdraw(gone))
      expect(await outcomeOf(await withdraw(gone))).toBe('404 not_found')
      const other = '/v1/teams/%40acme%2Fother/invitations'
      const foreign = team.asStranger(`${other}/${idle}`, { method: 'DELETE' })
      expect(await outcomeOf(await foreign)).toBe('404 not_found')
    })
  })

  describe('409', () => {
    it('refuses to withdraw an invitation of the directory file', async () => {
      const { invitations } = (await (await team.asAdmin(INVITATIONS_PATH)).json()) as {
        invitations: { id: string; source: string }[]
      }
      const listed = invitations.find(({ source }) => source === 'directory')?.id ?? ''
      expect(await outcomeOf(await withdraw(listed))).toBe('409 conflict')
    })
  })
})
