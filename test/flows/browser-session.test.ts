import { afterAll, beforeAll, expect, it } from 'vitest'
import { addPasskey, newAuthenticator, signInWithPasskey } from '../support/passkeys.ts'
import { cookiesOf, directoryOf, mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { expectOk, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { consumeSignInLink, requestSignInLink } from '../support/sign-in-links.ts'

const HOUR = 3600
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const status = async (cookie: string) => (await service.fetch('/device', { headers: { cookie } })).status
const owner = async (cookie: string) => {
  const response = await service.fetch('/device', { headers: { cookie } })
  return response.ok ? ((await response.json()) as { user: { email: string } }).user.email : response.status
}

/** Approves a login by the link of its email in a browser that already has these cookies. */
async function consumeMailLink(email: string, cookie: string): Promise<Response> {
  await service.startLogin(email, { deviceId: 'browser' })
  const consume = service.fetch('/v1/auth/magic/consume', json({ token: mailTokenOf(service, email) }, { cookie }))
  return expectOk('The approval', consume)
}

/** Signs in by email in a browser that already has these cookies; returns the cookies that it has then. */
const signInWith = async (email: string, cookie: string) => cookiesOf(await consumeMailLink(email, cookie))

it('ends a browser session after eight hours without use', async () => {
  const cookie = await signInBrowser(service, persons.next())
  service.clock.advance({ seconds: 8 * HOUR - 1 })
  expect(await status(cookie)).toBe(200)
  service.clock.advance({ seconds: 8 * HOUR - 1 })
  expect(await status(cookie)).toBe(200)
  service.clock.advance({ seconds: 8 * HOUR })
  expect(await status(cookie)).toBe(401)
})

it('ends a browser session after a day, also when it is used', async () => {
  const cookie = await signInBrowser(service, persons.next())
  for (let hours = 0; hours < 23; hours += 1) {
    service.clock.advance({ seconds: HOUR })
    expect(await status(cookie), `after ${hours + 1} hours`).toBe(200)
  }
  service.clock.advance({ seconds: HOUR })
  expect(await status(cookie)).toBe(401)
})

it('replaces the session cookie of another person at sign-in', async () => {
  const [attacker, victim] = [persons.next(), persons.next()]
  const planted = await signInBrowser(service, attacker)
  const cookie = await signInWith(victim, planted)
  expect(cookie).not.toBe(planted)
  expect(await owner(cookie)).toBe(victim)
  expect(await owner(planted)).toBe(401)
})

/** Signs in with a new passkey in a browser that has these cookies; returns the cookies of the answer. */
async function signInByPasskey(email: string, cookie = ''): Promise<string> {
  const authenticator = newAuthenticator()
  await addPasskey(service, { cookie: await signInBrowser(service, email) }, authenticator)
  const headers = { 'x-svc-use-cookies': 'true', cookie }
  return cookiesOf(await expectOk('The sign-in', signInWithPasskey(service, authenticator, {}, headers)))
}

it.each<[how: string, signIn: (email: string, cookie: string) => Promise<string>]>([
  ['the link of a login', signInWith],
  [
    'a sign-in link',
    async (email, cookie) =>
      cookiesOf(await consumeSignInLink(service, await requestSignInLink(service, email), { cookie })),
  ],
  ['a passkey', signInByPasskey],
])('ends the tokens of another person in the same browser at a sign-in by %s', async (_how, signIn) => {
  const [former, email] = [persons.next(), persons.next()]
  const cookie = await signInByPasskey(former)
  expect(await owner(await signIn(email, cookie))).toBe(email)
  expect(await outcomeOf(await refresh(cookie))).toBe('401 unauthorized')
  const { prisma } = service.database
  const ended = await prisma.deviceSession.findFirstOrThrow({ where: { invitation: { account: { email: former } } } })
  const events = await prisma.auditEvent.findMany({ where: { kind: 'device_session.revoked', subjectId: ended.id } })
  expect(events).toMatchObject([{ accountId: expect.any(String), details: { reason: 'replaced' } }])
})

/** The `Cookie` header that a browser sends to a path some time after an answer. */
function cookiesLater(answer: Response, { seconds, path }: { seconds: number; path: string }): string {
  const sent = answer.headers.getSetCookie().filter((cookie) => {
    const [, maxAge] = /; Max-Age=(\d+)/.exec(cookie) ?? []
    const [, of = '/'] = /; Path=([^;]+)/.exec(cookie) ?? []
    return Number(maxAge) > seconds && path.startsWith(of)
  })
  return sent.map((cookie) => cookie.split(';')[0]).join('; ')
}

const refresh = (cookie: string) =>
  service.fetch('/v1/auth/token/refresh', json(undefined, { 'x-svc-use-cookies': 'true', cookie }))

it.each<[how: string, signIn: (email: string, cookie: string) => Promise<Response>]>([
  ['the link of a login', consumeMailLink],
  [
    'a sign-in link',
    async (email, cookie) => consumeSignInLink(service, await requestSignInLink(service, email), { cookie }),
  ],
])(
  'removes the tokens of a device login by another person from the browser at a sign-in by %s',
  async (_how, signIn) => {
    const former = persons.next()
    const { deviceCode } = await service.startLogin(former)
    await service.approveByMail(former)
    const poll = service.fetch('/v1/auth/device/poll', json({ deviceCode }, { 'x-svc-use-cookies': 'true' }))
    const tokens = cookiesOf(await expectOk('The poll', poll))

    const clearedBy = async (email: string) =>
      (await signIn(email, tokens)).headers.getSetCookie().filter((cookie) => /^svc_(access|refresh)=;/.test(cookie))
    expect(await clearedBy(former)).toEqual([])
    expect(await clearedBy(persons.next())).toEqual([
      expect.stringContaining('Path=/; Expires=Thu, 01 Jan 1970'),
      expect.stringContaining('Path=/v1/auth; Expires=Thu, 01 Jan 1970'),
    ])
  },
)

it('keeps one device for a browser that signs in by a passkey every day', async () => {
  const [email, authenticator] = [persons.next(), newAuthenticator()]
  await addPasskey(service, { cookie: await signInBrowser(service, email) }, authenticator)
  let cookie = ''
  for (let day = 0; day < 3; day += 1) {
    const headers = { 'x-svc-use-cookies': 'true', cookie }
    const answer = await expectOk('The sign-in', signInWithPasskey(service, authenticator, {}, headers))
    const seconds = 25 * HOUR
    service.clock.advance({ seconds })
    cookie = cookiesLater(answer, { seconds, path: '/v1/auth/passkeys/login/finish' })
  }
  expect(await status(cookie)).toBe(401)
  const { prisma } = service.database
  const alive = { revokedAt: null, isBrowser: true, invitation: { account: { email } } }
  expect(await prisma.deviceSession.count({ where: alive })).toBe(1)
})

it('ends the tokens of another person whose session in the same browser is over', async () => {
  const [former, authenticator] = [persons.next(), newAuthenticator()]
  await addPasskey(service, { cookie: await signInBrowser(service, former) }, authenticator)
  const signIn = signInWithPasskey(service, authenticator, {}, { 'x-svc-use-cookies': 'true' })
  const answer = await expectOk('The sign-in', signIn)
  const seconds = 25 * HOUR
  service.clock.advance({ seconds })

  const token = await requestSignInLink(service, persons.next())
  const cookie = cookiesLater(answer, { seconds, path: '/sign-in/email' })
  expect((await consumeSignInLink(service, token, { cookie })).status).toBe(303)
  const tokens = cookiesLater(answer, { seconds, path: '/v1/auth/token/refresh' })
  expect(tokens).toContain('svc_refresh')
  expect(await outcomeOf(await refresh(tokens))).toBe('401 unauthorized')
})

it('replaces a forged session cookie at sign-in', async () => {
  const email = persons.next()
  const cookie = await signInWith(email, 'svc_session=svcs_planted')
  expect(cookie).not.toContain('planted')
  expect(await owner('svc_session=svcs_planted')).toBe(401)
  expect(await owner(cookie)).toBe(email)
})

it('stores only a hash of the session cookie', async () => {
  const cookie = await signInBrowser(service, persons.next())
  const rows = await service.database.prisma.browserSession.findMany()
  expect(JSON.stringify(rows)).not.toContain(cookie.split('=')[1])
})

it('ends a browser session with the invitation, and does not restore it with a new invitation', async () => {
  await using other = await startService()
  const cookie = await signInBrowser(other, 'ada@example.com')
  const ask = async () => (await other.fetch('/device', { headers: { cookie } })).status
  expect(await ask()).toBe(200)
  await other.applyDirectory(directoryOf([]))
  expect(await ask()).toBe(401)
  await other.applyDirectory(directoryOf(['ada@example.com']))
  expect(await ask()).toBe(401)
})
