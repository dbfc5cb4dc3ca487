import { afterAll, beforeAll, expect, it } from 'vitest'
import { cookiesOf, mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { bearerOf, expectData, expectOk, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const logout = (headers: Record<string, string>) => service.fetch('/v1/auth/logout', { method: 'POST', headers })

it('clears all cookies of a browser in cookie mode and ends their sessions', async () => {
  const email = persons.next()
  const { deviceCode } = await service.startLogin(email)
  const consume = service.fetch('/v1/auth/magic/consume', json({ token: mailTokenOf(service, email) }))
  const approved = await expectOk('The approval', consume)
  const poll = service.fetch('/v1/auth/device/poll', json({ deviceCode }, { 'x-svc-use-cookies': 'true' }))
  const cookie = `${cookiesOf(approved)}; ${cookiesOf(await expectOk('The poll', poll))}`

  const response = await logout({ cookie })
  expect(await response.json()).toEqual({ ok: true })
  expect(response.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^svc_session=; Path=\/; Expires=Thu, 01 Jan 1970 .*HttpOnly; SameSite=Lax$/),
    expect.stringMatching(/^svc_access=; Path=\/; Expires=Thu, 01 Jan 1970 .*HttpOnly; SameSite=Strict$/),
    expect.stringMatching(/^svc_refresh=; Path=\/v1\/auth; Expires=Thu, 01 Jan 1970 .*HttpOnly; SameSite=Strict$/),
  ])

  const refresh = { method: 'POST', headers: { cookie, 'x-svc-use-cookies': 'true' } }
  expect(await outcomeOf(await service.fetch('/v1/auth/token/refresh', refresh))).toBe('401 unauthorized')
  for (const one of cookie.split('; '))
    expect((await service.fetch('/device', { headers: { cookie: one } })).status, one.split('=')[0]).toBe(401)
  expect(await (await logout({ cookie })).json()).toEqual({ ok: true })
})

it('ends a session by its refresh cookie alone', async () => {
  const email = persons.next()
  const { accessToken, refreshToken } = await service.signIn(email)
  await expectOk('The sign-out', logout({ cookie: `svc_refresh=${refreshToken}` }))
  expect((await service.clientOf(accessToken).GET('/device')).response.status).toBe(401)
})

it('ends a session by its expired access token', async () => {
  const email = persons.next()
  const { accessToken, refreshToken } = await service.signIn(email)
  service.clock.advance({ seconds: 901 })
  expect((await logout(bearerOf(accessToken))).status).toBe(200)
  const response = await service.fetch('/v1/auth/token/refresh', json({ account: email, refreshToken }))
  expect(await outcomeOf(response)).toBe('401 unauthorized')
})

it('ends no session by a forged access token', async () => {
  const email = persons.next()
  const { accessToken, refreshToken } = await service.signIn(email)
  const [header, payload] = accessToken.split('.')
  const forged = `${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`
  expect((await logout(bearerOf(forged))).status).toBe(200)
  const response = await service.fetch('/v1/auth/token/refresh', json({ account: email, refreshToken }))
  expect(response.status).toBe(200)
})

it('signs one device out and leaves the other device and browser of the person', async () => {
  const email = persons.next()
  const cookie = await signInBrowser(service, email)
  const [one, other] = [
    await service.signIn(email, { deviceId: 'one' }),
    await service.signIn(email, { deviceId: 'other' }),
  ]
  expectData('The sign-out', await service.clientOf(one.accessToken).POST('/v1/auth/logout'))
  expect((await service.clientOf(other.accessToken).GET('/device')).response.status).toBe(200)
  expect((await service.fetch('/device', { headers: { cookie } })).status).toBe(200)
})
