import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cookiesOf, mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { expectOk, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const COOKIE_MODE = { 'x-svc-use-cookies': 'true' }

/** Signs in as a browser in cookie mode does; returns the answers of the link and of the poll. */
async function signInWithCookies(on: TestService, email: string) {
  const { deviceCode } = await on.startLogin(email)
  const consume = on.fetch('/v1/auth/magic/consume', json({ token: mailTokenOf(on, email) }))
  const link = await expectOk('The approval', consume)
  const poll = await expectOk('The poll', on.fetch('/v1/auth/device/poll', json({ deviceCode }, COOKIE_MODE)))
  return { link, poll }
}

const refresh = (headers: Record<string, string>, on = service) =>
  on.fetch('/v1/auth/token/refresh', { method: 'POST', headers })

/** The cookies that an answer sets, without their values and dates. */
const attributesOf = (response: Response) =>
  response.headers.getSetCookie().map((cookie) => cookie.replace(/=[^;]*/, '').replace(/ Expires=[^;]*;/, ''))

describe('the attributes of cookies', () => {
  it('over http have no __Host- prefix and no Secure, because cookie jars would not send such cookies', async () => {
    const { link, poll } = await signInWithCookies(service, persons.next())
    expect(attributesOf(link)).toEqual(['svc_session; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax'])
    expect(attributesOf(poll)).toEqual([
      'svc_access; Max-Age=900; Path=/; HttpOnly; SameSite=Strict',
      'svc_refresh; Max-Age=2592000; Path=/v1/auth; HttpOnly; SameSite=Strict',
    ])
    expect(await poll.text()).not.toMatch(/eyJ|svcr_/)
  })

  it('over https have the __Host- prefix and Secure, also when cookies are read and cleared', async () => {
    await using secure = await startService({ env: { SVC_BASE_URL: 'https://svc.example.com' } })
    const { link, poll } = await signInWithCookies(secure, 'ada@example.com')
    expect(attributesOf(link)).toEqual(['__Host-svc_session; Max-Age=2592000; Path=/; HttpOnly; Secure; SameSite=Lax'])
    expect(attributesOf(poll)).toEqual([
      '__Host-svc_access; Max-Age=900; Path=/; HttpOnly; Secure; SameSite=Strict',
      'svc_refresh; Max-Age=2592000; Path=/v1/auth; HttpOnly; Secure; SameSite=Strict',
    ])

    const device = (cookie: string) => secure.fetch('/device', { headers: { cookie } })
    expect((await device(cookiesOf(link))).status).toBe(200)
    expect((await device(cookiesOf(poll))).status).toBe(200)
    // A sibling host can set a cookie with the name without prefix.
    expect((await device(cookiesOf(link).replace('__Host-', ''))).status).toBe(401)

    const cookie = `${cookiesOf(link)}; ${cookiesOf(poll)}`
    const cleared = await secure.fetch('/v1/auth/logout', { method: 'POST', headers: { cookie } })
    expect(attributesOf(cleared)).toEqual([
      '__Host-svc_session; Path=/; HttpOnly; Secure; SameSite=Lax',
      '__Host-svc_access; Path=/; HttpOnly; Secure; SameSite=Strict',
      'svc_refresh; Path=/v1/auth; HttpOnly; Secure; SameSite=Strict',
    ])
    expect((await device(cookiesOf(link))).status).toBe(401)
  })
})

describe('the refresh cookie', () => {
  it('is accepted only with the header X-Svc-Use-Cookies, which other sites cannot send', async () => {
    const { poll } = await signInWithCookies(service, persons.next())
    const cookie = cookiesOf(poll)
    for (const headers of [{}, { 'x-svc-use-cookies': 'false' }])
      expect(await outcomeOf(await refresh({ cookie, ...headers }))).toBe('401 unauthorized')
    expect(await outcomeOf(await refresh({ cookie, 'x-svc-use-cookies': '1' }))).toBe('400 invalid_request')
    expect((await refresh({ cookie, ...COOKIE_MODE })).status).toBe(200)
  })

  it('is refused when a request has two of them, and the session goes on', async () => {
    const email = persons.next()
    const { refreshToken } = await service.signIn(email)
    const planted = (await service.signIn(persons.next())).refreshToken
    for (const pair of [
      [planted, refreshToken],
      [refreshToken, planted],
    ]) {
      const cookie = pair.map((token) => `svc_refresh=${token}`).join('; ')
      expect(await outcomeOf(await refresh({ cookie, ...COOKIE_MODE }))).toBe('401 unauthorized')
    }
    expect((await refresh({ cookie: `svc_refresh=${refreshToken}`, ...COOKIE_MODE })).status).toBe(200)
  })
})

describe('a forged cookie', () => {
  const forged: [string, string][] = [
    ['with an unknown token', `svcs_${'A'.repeat(43)}`],
    ['with a truncated token', 'svcs_AA'],
    ['of 8 kB', 'x'.repeat(8192)],
    ['with special characters', '%00%ff"\\\'<script>'],
    ['with a JSON object', '{"$ne":null}'],
  ]
  it.each(forged)('%s signs nobody in', async (_, value) => {
    for (const name of ['svc_session', 'svc_access']) {
      const response = await service.fetch('/device', { headers: { cookie: `${name}=${value}` } })
      expect(await outcomeOf(response), name).toBe('401 authenticate_first')
    }
    expect(await outcomeOf(await refresh({ cookie: `svc_refresh=${value}`, ...COOKIE_MODE }))).toBe('401 unauthorized')
  })

  it('that is a session cookie without its last character is refused', async () => {
    const cookie = await signInBrowser(service, persons.next())
    const response = await service.fetch('/device', { headers: { cookie: cookie.slice(0, -1) } })
    expect(response.status).toBe(401)
  })
})

it('ends the previous session of a browser when another person signs in there', async () => {
  const [before, after] = [persons.next(), persons.next()]
  const old = await signInBrowser(service, before)
  await service.startLogin(after)
  const response = await service.fetch(
    '/v1/auth/magic/consume',
    json({ token: mailTokenOf(service, after) }, { cookie: old }),
  )
  expect(response.status).toBe(200)
  const status = async (cookie: string) => (await service.fetch('/device', { headers: { cookie } })).status
  expect(await status(old)).toBe(401)
  expect(await status(cookiesOf(response))).toBe(200)
})

it('accepts no cookie at the gateway', async () => {
  const { link, poll } = await signInWithCookies(service, persons.next())
  const cookie = `${cookiesOf(link)}; ${cookiesOf(poll)}`
  for (const path of ['/v1/models', '/codex/v1/models', '/vendorb/v1/models', '/v1/workers']) {
    expect((await service.fetch(path, { headers: { cookie } })).status, path).toBe(401)
  }
  const call = await service.fetch('/v1/chat/completions', json({ messages: [] }, { cookie }))
  expect(call.status).toBe(401)
})
