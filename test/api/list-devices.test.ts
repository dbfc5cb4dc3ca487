import { describe, expect, it } from 'vitest'
import type { DeviceList } from '../../generated/sdk/index.js'
import { addPasskey, newAuthenticator, signInWithPasskey } from '../support/passkeys.ts'
import type { Credential } from '../support/passkeys.ts'
import { cookiesOf, directoryOf, signInBrowser } from '../support/people.ts'
import { bearerOf, expectData, expectJson, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { consumeSignInLink, requestSignInLink } from '../support/sign-in-links.ts'
import { waitForValue } from '../support/wait.ts'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

describe('listDevices', () => {
  describe('200', () => {
    it('lists name, team, times, IP address and approver of each device, and marks the current one', async () => {
      await using service = await startService()
      const first = await service.signIn('ada@example.com', { deviceId: 'laptop', deviceName: 'Laptop' })
      const since = service.clock.now().toISOString()
      service.clock.advance({ seconds: 60 })
      const second = await service.startLogin('ada@example.com', { deviceId: 'server', deviceName: 'Server' })
      const approval = { body: { userCode: second.userCode } }
      expectData('The approval', await service.clientOf(first.accessToken).POST('/device', approval))
      const poll = { body: { deviceCode: second.deviceCode } }
      expectData('The poll', await service.client.POST('/v1/auth/device/poll', poll))

      const { data } = await service.clientOf(first.accessToken).GET('/v1/devices')
      const now = service.clock.now().toISOString()
      const place = { team: '@acme/core', lastIp: expect.stringContaining('127.0.0.1') as string }
      const id = expect.stringMatching(/^[0-9a-f-]{36}$/) as string
      // The browser that opened the link of the email is signed in too.
      expect(data?.devices.map(({ kind }) => kind)).toEqual(['device', 'device', 'browser'])
      // The last use of the laptop is saved within a second, and the device that was used last comes first.
      const devices = data?.devices.filter(({ kind }) => kind === 'device')
      expect(devices?.toSorted((a, b) => b.firstSeenAt.localeCompare(a.firstSeenAt))).toEqual([
        {
          ...{
            kind: 'device',
            id,
            deviceId: 'server',
            deviceName: 'Server',
            ...place,
            firstSeenAt: now,
            lastSeenAt: now,
          },
          approvedBy: { via: 'user_code', deviceName: 'Laptop' },
          current: false,
        },
        {
          ...{
            kind: 'device',
            id,
            deviceId: 'laptop',
            deviceName: 'Laptop',
            ...place,
            firstSeenAt: since,
            lastSeenAt: expect.toBeOneOf([since, now]) as string,
          },
          approvedBy: { via: 'mail', deviceName: null },
          current: true,
        },
      ])
    })

    it('marks the device of a browser that signed in with a passkey as current', async () => {
      await using service = await startService()
      const { accessToken } = await service.signIn('ada@example.com')
      const authenticator = newAuthenticator()
      await addPasskey(service, bearerOf(accessToken), authenticator)
      const cookies = await signInWithPasskey(service, authenticator, {}, { 'x-svc-use-cookies': 'true' })
      const session = cookies.headers.getSetCookie().find((cookie) => cookie.startsWith('svc_session=')) ?? ''

      const response = await service.fetch('/v1/devices', { headers: { cookie: session.split(';')[0] ?? '' } })
      const { devices } = (await response.json()) as { devices: { current: boolean; approvedBy: object }[] }
      expect(devices.filter(({ current }) => current)).toMatchObject([
        { kind: 'browser', approvedBy: { via: 'passkey' } },
      ])
    })

    it('lists each browser once: by a link, by a passkey, and again by a link in the same browser', async () => {
      await using service = await startService()
      const cookie = await signInBrowser(service, 'ada@example.com', { 'user-agent': FIREFOX })
      const browsers = async (by: string) => {
        const response = await service.fetch('/v1/devices', { headers: { cookie: by } })
        const { devices } = (await response.json()) as { devices: { kind: string; deviceName: string }[] }
        return devices.filter(({ kind }) => kind === 'browser')
      }
      expect(await browsers(cookie)).toMatchObject([
        { deviceName: 'Firefox on Linux', current: true, approvedBy: { via: 'mail' } },
      ])

      const byPasskey = await signBrowserInByPasskey(service, { cookie }, { cookie })
      expect(await browsers(byPasskey)).toMatchObject([{ current: true, approvedBy: { via: 'passkey' } }])

      const token = await requestSignInLink(service, 'ada@example.com')
      const byLink = cookiesOf(await consumeSignInLink(service, token, { cookie: byPasskey }))
      expect(await browsers(byLink)).toMatchObject([{ current: true, approvedBy: { via: 'passkey' } }])
    })

    it('lists a browser that a link has signed in for longer than the passkey before', async () => {
      await using service = await startService({ env: { SVC_REFRESH_IDLE_DAYS: '1' } })
      const { accessToken } = await service.signIn('ada@example.com')
      const cookie = await signBrowserInByPasskey(service, bearerOf(accessToken))
      service.clock.advance({ seconds: 20 * 3600 })
      const token = await requestSignInLink(service, 'ada@example.com')
      const byLink = cookiesOf(await consumeSignInLink(service, token, { cookie }))
      service.clock.advance({ seconds: 5 * 3600 })
      const response = await service.fetch('/v1/devices', { headers: { cookie: byLink } })
      expect(await response.json()).toMatchObject({ devices: [{ kind: 'browser', current: true }] })
    })

    it.each(['a link', 'a passkey'])('shows where a browser that %s signed in was last used from', async (how) => {
      await using service = await startService({ env: { SVC_TRUST_PROXY: 'loopback' } })
      const from = (ip: string) => ({ 'x-forwarded-for': ip })
      let cookie = await signInBrowser(service, 'ada@example.com', from('203.0.113.7'))
      if (how === 'a passkey')
        cookie = await signBrowserInByPasskey(service, { cookie }, { cookie, ...from('203.0.113.7') })
      service.clock.advance({ seconds: 60 })
      const list = service.fetch('/v1/devices', { headers: { cookie, ...from('198.51.100.9') } })
      const { devices } = await expectJson<DeviceList>('The list', list)
      const lastSeenAt = service.clock.now().toISOString()
      expect(devices.filter(({ current }) => current)).toMatchObject([{ lastSeenAt, lastIp: '198.51.100.9' }])
    })

    it('shows a sign-in by a link as the last use of the browser that a passkey signed in', async () => {
      await using service = await startService({ env: { SVC_TRUST_PROXY: 'loopback' } })
      const { accessToken } = await service.signIn('ada@example.com')
      const before = await signBrowserInByPasskey(service, bearerOf(accessToken))
      service.clock.advance({ seconds: 3600 })
      const token = await requestSignInLink(service, 'ada@example.com')
      const from = { 'x-forwarded-for': '198.51.100.9' }
      const cookie = cookiesOf(await consumeSignInLink(service, token, { cookie: before, ...from }))
      const lastSeenAt = service.clock.now().toISOString()
      // The first use after the sign-in is within a minute of it, so it is not saved.
      for (const path of ['/v1/devices', '/v1/teams/@acme%2Fcore/devices']) {
        const list = service.fetch(path, { headers: { cookie } })
        const [last] = (await expectJson<DeviceList>('The list', list)).devices
        expect(last).toMatchObject({ kind: 'browser', lastSeenAt, lastIp: '198.51.100.9' })
      }
    })

    it('moves the last use with model calls, to the minute', async () => {
      await using service = await startService()
      const { accessToken } = await service.signIn('ada@example.com')
      service.clock.advance({ seconds: 120 })
      await service.clientOf(accessToken).GET('/v1/models')
      const seen = service.clock.now().toISOString()
      const lastSeen = async () => {
        const { data } = await service.clientOf(accessToken).GET('/v1/devices')
        return data?.devices.find(({ kind }) => kind === 'device')?.lastSeenAt
      }
      await waitForValue('the time of the last use', lastSeen, seen)
    })

    it('leaves out devices of other accounts, signed-out devices, expired devices and expired browsers', async () => {
      await using service = await startService({ directory: directoryOf(['ada@example.com', 'grace@example.com']) })
      await service.signIn('grace@example.com', { deviceId: 'not-hers' })
      await service.signIn('ada@example.com', { deviceId: 'away' })
      const gone = await service.signIn('ada@example.com', { deviceId: 'gone' })
      expectData('The sign-out', await service.clientOf(gone.accessToken).POST('/v1/auth/logout'))
      service.clock.advance({ days: 31 })
      await signInBrowser(service, 'ada@example.com')
      // A browser that was used until its last second.
      await service.database.prisma.browserSession.updateMany({ data: { absoluteExpiresAt: service.clock.now() } })
      const cookie = await signInBrowser(service, 'ada@example.com')

      const response = await service.fetch('/v1/devices', { headers: { cookie } })
      const { devices } = (await response.json()) as { devices: { kind: string; current: boolean }[] }
      expect(devices).toMatchObject([{ kind: 'browser', current: true }])
    })
  })

  describe('401', () => {
    it('refuses a caller who is not signed in', async () => {
      await using service = await startService()
      expect(await outcomeOf(await service.fetch('/v1/devices'))).toBe('401 unauthorized')
    })
  })
})

/** Adds a passkey with this credential, and signs a browser in with it. Resolves with the cookies of the browser. */
async function signBrowserInByPasskey(
  service: TestService,
  by: Credential,
  headers: Record<string, string> = {},
): Promise<string> {
  const authenticator = newAuthenticator()
  await addPasskey(service, by, authenticator)
  const signingIn = signInWithPasskey(service, authenticator, {}, { 'x-svc-use-cookies': 'true', ...headers })
  return cookiesOf(await signingIn)
}
