import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DeviceList } from '../../generated/sdk/index.js'
import { accountIdOf } from '../support/agent-sessions.ts'
import { people, signInBrowser } from '../support/people.ts'
import { describeRefusals } from '../support/refusals.ts'
import { bearerOf, expectJson, expectOk, json } from '../support/requests.ts'
import { consumeSignInLink, requestSignInLink } from '../support/sign-in-links.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/v1/auth/logout-everywhere'
const persons = people()
let service: TestService
let authorization: string

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
  authorization = `Bearer ${(await service.signIn(persons.next())).accessToken}`
})
afterAll(() => service[Symbol.asyncDispose]())

/** Two devices and a browser of an account, and a device of another account. */
async function household() {
  const email = persons.next()
  const one = await service.signIn(email, { deviceId: 'one' })
  const two = await service.signIn(email, { deviceId: 'two' })
  const cookie = await signInBrowser(service, email)
  const stranger = await service.signIn(persons.next())
  const headers = {
    one: bearerOf(one.accessToken),
    two: bearerOf(two.accessToken),
    browser: { cookie },
    stranger: bearerOf(stranger.accessToken),
  }
  const alive = async () => {
    const statuses = await Promise.all(
      Object.values(headers).map(async (given) => (await service.fetch('/device', { headers: given })).status),
    )
    return Object.fromEntries(Object.keys(headers).map((name, index) => [name, statuses[index] === 200]))
  }
  return { email, headers, alive }
}

describe('logoutEverywhere', () => {
  describe('200', () => {
    it('ends all sessions of the account and none of other accounts', async () => {
      const { headers, alive } = await household()
      const response = await service.fetch(PATH, { method: 'POST', headers: headers.browser })
      // Two devices, the two browsers that approved them, and one more browser.
      expect(await response.json()).toEqual({ ok: true, devices: 5, passkeys: 0, apiKeys: 0 })
      expect(response.headers.getSetCookie()).toHaveLength(3)
      expect(await alive()).toEqual({ one: false, two: false, browser: false, stranger: true })
    })

    it.each(['one', 'browser'] as const)('with scope others keeps the session of the caller: %s', async (asks) => {
      const { headers, alive } = await household()
      const response = await service.fetch(PATH, json({ scope: 'others' }, headers[asks]))
      expect(await response.json()).toEqual({ ok: true, devices: 4, passkeys: 0, apiKeys: 0 })
      expect(response.headers.getSetCookie()).toEqual([])
      expect(await alive()).toEqual({ one: false, two: false, browser: false, stranger: true, [asks]: true })
    })

    it.each(['one', 'browser'] as const)(
      'ends the session of the caller too when it is the unknown one: %s',
      async (asks) => {
        const { headers, alive } = await household()
        const listed = await expectJson<DeviceList>(
          'The list',
          service.fetch('/v1/devices', { headers: headers[asks] }),
        )
        const unknownDevice = listed.devices.find(({ current }) => current)?.id.toUpperCase()
        await expectOk('The sign-out', service.fetch(PATH, json({ scope: 'others', unknownDevice }, headers[asks])))
        expect(await alive()).toEqual({ one: false, two: false, browser: false, stranger: true })
      },
    )

    it('cancels pending logins and approved logins that were not polled yet', async () => {
      const { email, headers } = await household()
      const waiting = await service.startLogin(email, { deviceId: 'waiting' })
      const approved = await service.startLogin(email, { deviceId: 'approved' })
      await service.approveByMail(email)
      await expectOk('Signing out everywhere', service.fetch(PATH, json({}, headers.one)))
      for (const { deviceCode } of [waiting, approved]) {
        const polled = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
        expect(polled.response.status).toBe(410)
      }
    })

    it('writes an audit row for each sign-in that it cancels, and none for those that had ended', async () => {
      const { email, headers } = await household()
      await service.startLogin(email, { deviceId: 'expired' })
      await consumeSignInLink(service, await requestSignInLink(service, email))
      // Approved in its last second: it has expired, and can still be polled for a minute after the approval.
      await service.startLogin(email, { deviceId: 'late' })
      service.clock.advance({ seconds: 599 })
      await service.approveByMail(email)
      service.clock.advance({ seconds: 1 })
      await service.startLogin(email, { deviceId: 'waiting' })
      await service.startLogin(email, { deviceId: 'approved' })
      await service.approveByMail(email)
      const token = await requestSignInLink(service, email)
      await expectOk('Signing out everywhere', service.fetch(PATH, json({}, headers.one)))
      expect((await consumeSignInLink(service, token)).status).toBe(401)
      const { prisma } = service.database
      const ofAccount = { invitation: { account: { email } } }
      const logins = await prisma.deviceLogin.findMany({
        where: { ...ofAccount, deviceId: { in: ['late', 'waiting', 'approved'] } },
      })
      const events = await prisma.auditEvent.findMany({
        where: { accountId: await accountIdOf(service, email), kind: { endsWith: '.cancelled' } },
        select: { kind: true, subjectId: true, details: true },
      })
      const details = { reason: 'signed_out_everywhere' }
      expect(events).toHaveLength(4)
      expect(events).toEqual(
        expect.arrayContaining([
          ...logins.map(({ id: subjectId }) => ({ kind: 'device_login.cancelled', subjectId, details })),
          { kind: 'sign_in_link.cancelled', subjectId: null, details },
        ]),
      )
    })
  })

  describeRefusals({
    service: () => service,
    method: 'POST',
    path: PATH,
    by: () => ({ authorization }),
    body: { scope: 'others' },
  })
})
