import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TokenSet } from '../../generated/sdk/index.js'
import { mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { expectJson, expectOk, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const DAY_MS = 86_400_000
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const advanceTo = (time: string | Date, ms = 0) =>
  service.clock.advance({ ms: new Date(time).getTime() - service.clock.now().getTime() + ms })

describe('a login, valid until a millisecond before its expiry and expired at it', () => {
  const use = {
    'consume the link': (_email: string, token: string) => service.fetch('/v1/auth/magic/consume', json({ token })),
    'open the link': (_email: string, token: string) => service.fetch(`/v1/auth/magic/consume?token=${token}`),
    poll: (_email: string, _token: string, deviceCode: string) =>
      service.fetch('/v1/auth/device/poll', json({ deviceCode })),
    'approve by code': (_email: string, _token: string, _deviceCode: string, userCode: string, cookie: string) =>
      service.fetch('/device', json({ userCode }, { cookie })),
  }

  it.each([
    ['consume the link', '200'],
    ['open the link', '200'],
    ['poll', '428 authorization_pending'],
    ['approve by code', '200'],
  ] as const)('%s', async (name, good) => {
    for (const [ms, outcome] of [
      [-1, good],
      [0, '410 expired'],
    ] as const) {
      const email = persons.next()
      const cookie = await signInBrowser(service, email)
      const { expiresAt, deviceCode, userCode } = await service.startLogin(email)
      const token = mailTokenOf(service, email)
      advanceTo(expiresAt, ms)
      expect(await outcomeOf(await use[name](email, token, deviceCode, userCode, cookie)), `at ${ms} ms`).toBe(outcome)
    }
  })
})

describe('a refresh token', () => {
  it.each([
    ['idle', 30],
    ['absolute', 90],
  ])('is valid until a millisecond before its %s expiry and expired at it', async (_, days) => {
    for (const [ms, outcome] of [
      [-1, '200'],
      [0, '410 expired'],
    ] as const) {
      const email = persons.next()
      const startedAt = service.clock.now().getTime()
      let { refreshToken } = await service.signIn(email)
      const refresh = () => service.fetch('/v1/auth/token/refresh', json({ account: email, refreshToken }))
      for (let day = 29; day < days - 1; day += 29) {
        advanceTo(new Date(startedAt + day * DAY_MS))
        refreshToken = (await expectJson<TokenSet>('The refresh', refresh())).refreshToken
      }
      advanceTo(new Date(startedAt + days * DAY_MS), ms)
      expect(await outcomeOf(await refresh()), `at ${ms} ms`).toBe(outcome)
    }
  })
})

it('gives the tokens of a login that is approved in its last second for one minute', async () => {
  const email = persons.next()
  const { expiresAt, deviceCode } = await service.startLogin(email)
  const poll = async () => outcomeOf(await service.fetch('/v1/auth/device/poll', json({ deviceCode })))
  advanceTo(expiresAt, -1000)
  await service.approveByMail(email)
  service.clock.advance({ seconds: 5 })
  expect(await poll()).toBe('200')
  service.clock.advance({ seconds: 54, ms: 999 })
  expect(await poll()).toBe('200')
  service.clock.advance({ ms: 1 })
  expect(await poll()).toBe('410 expired')
})

it('refuses an access token from its expiry on', async () => {
  const email = persons.next()
  const { accessToken, expiresAt } = await service.signIn(email)
  const status = async (path: '/device' | '/v1/models') =>
    (await service.clientOf(accessToken).GET(path)).response.status
  advanceTo(expiresAt, -1)
  expect([await status('/device'), await status('/v1/models')]).toEqual([200, 200])
  advanceTo(expiresAt)
  expect([await status('/device'), await status('/v1/models')]).toEqual([401, 401])
})

it('restores nothing that has ended when the clock is set back an hour', async () => {
  const email = persons.next()
  const cookie = await signInBrowser(service, email)
  const { accessToken } = await service.signIn(email)
  const { deviceCode } = await service.startLogin(email)
  const token = mailTokenOf(service, email)
  const credentials = { cookie, authorization: `Bearer ${accessToken}` }
  await expectOk('The approval', service.fetch('/v1/auth/magic/consume', json({ token })))
  await expectOk('The sign-out', service.fetch('/v1/auth/logout', json({}, credentials)))

  service.clock.advance({ seconds: -3600 })
  expect((await service.fetch('/device', { headers: { cookie } })).status).toBe(401)
  expect((await service.clientOf(accessToken).GET('/device')).response.status).toBe(401)
  expect(await outcomeOf(await service.fetch('/v1/auth/magic/consume', json({ token })))).toBe('401 unauthorized')
  expect(await outcomeOf(await service.fetch('/v1/auth/device/poll', json({ deviceCode })))).toBe('200')
  service.clock.advance({ seconds: 3600 })
})
