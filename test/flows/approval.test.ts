import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cookiesOf, mailTokenOf, people, signInBrowser, tokenOf } from '../support/people.ts'
import { ask, bearerOf, expectOk, form, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const CONSUME = '/v1/auth/magic/consume'
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

async function started(email = persons.next()) {
  const login = await service.startLogin(email, { deviceId: 'new-device' })
  return { ...login, email, mailToken: mailTokenOf(service, email), handleToken: tokenOf(login.verificationUri) }
}
const consume = async (token: string, headers: Record<string, string> = {}) =>
  outcomeOf(await service.fetch(CONSUME, json({ token }, headers)))
const poll = async (deviceCode: string) => outcomeOf(await service.fetch('/v1/auth/device/poll', json({ deviceCode })))
/** The outcome of a poll of a pending login; too soon after another poll it is rate limited. */
const PENDING = /^(428 authorization_pending|429 rate_limited)$/

describe('the link in the start response, which the starting device knows', () => {
  it('approves nothing without a signed-in session', async () => {
    const { handleToken, deviceCode } = await started()
    expect(await consume(handleToken)).toBe('401 unauthorized')
    expect(await poll(deviceCode)).toMatch(PENDING)
  })

  it('approves nothing with a session of another account, by cookie or by token', async () => {
    const otherPerson = persons.next()
    const cookie = await signInBrowser(service, otherPerson)
    const { accessToken } = await service.signIn(otherPerson)
    const { handleToken, deviceCode } = await started()
    expect(await consume(handleToken, { cookie })).toBe('401 unauthorized')
    expect(await consume(handleToken, bearerOf(accessToken))).toBe('401 unauthorized')
    expect(await poll(deviceCode)).toMatch(PENDING)
  })

  it('denies nothing without a signed-in session', async () => {
    const { handleToken, deviceCode } = await started()
    const response = await service.fetch(CONSUME, json({ token: handleToken, action: 'deny' }))
    expect(await outcomeOf(response)).toBe('401 unauthorized')
    expect(await poll(deviceCode)).toMatch(PENDING)
  })

  it('approves once with a session of the same account, and sets no cookie', async () => {
    const email = persons.next()
    const cookie = await signInBrowser(service, email)
    const { handleToken, deviceCode } = await started(email)
    const response = await service.fetch(CONSUME, json({ token: handleToken }, { cookie }))
    expect(response.status).toBe(200)
    expect(response.headers.getSetCookie()).toEqual([])
    expect(await poll(deviceCode)).toBe('200')
    expect(await consume(handleToken, { cookie })).toBe('401 unauthorized')
  })

  it('differs from the link in the email', async () => {
    const { handleToken, mailToken, email } = await started()
    expect(handleToken).not.toBe(mailToken)
    expect(service.mailbox.newest(email).raw).not.toContain(handleToken)
  })
})

it('changes nothing when a link is opened many times', async () => {
  const { mailToken, handleToken, deviceCode } = await started()
  const before = await service.database.prisma.deviceLogin.findFirst({ orderBy: { createdAt: 'desc' } })
  for (const token of [mailToken, handleToken])
    for (let times = 0; times < 20; times += 1)
      expect((await service.fetch(`${CONSUME}?token=${token}`)).status).toBe(200)
  const head = await ask(service.port, { method: 'HEAD', path: `${CONSUME}?token=${mailToken}` })
  expect(head).toMatchObject({ status: 200, body: '' })

  expect(await service.database.prisma.deviceLogin.findFirst({ orderBy: { createdAt: 'desc' } })).toEqual(before)
  expect(await poll(deviceCode)).toBe('428 authorization_pending')
})

describe('a used link', () => {
  it('is refused, also after its expiry', async () => {
    const { mailToken } = await started()
    expect(await consume(mailToken)).toBe('200')
    service.clock.advance({ seconds: 1 })
    expect(await consume(mailToken)).toBe('401 unauthorized')
    service.clock.advance({ seconds: 600 })
    expect(await consume(mailToken)).toBe('401 unauthorized')
  })

  it('shows a page of success when it is submitted twice', async () => {
    const { mailToken, deviceCode } = await started()
    await expectOk('The approval', service.fetch(CONSUME, form({ token: mailToken })))
    const second = await service.fetch(CONSUME, form({ token: mailToken }))
    expect(await second.text()).toContain('Already approved')
    expect(await poll(deviceCode)).toBe('200')
  })

  it('tells a person who denies after the approval that nothing was denied, and how to sign the device out', async () => {
    const { mailToken, handleToken } = await started()
    const approval = await expectOk('The approval', service.fetch(CONSUME, form({ token: mailToken })))
    // By the link that approved, and by the other one, which is still open.
    for (const token of [mailToken, handleToken]) {
      const denial = await service.fetch(CONSUME, form({ token, action: 'deny' }, { cookie: cookiesOf(approval) }))
      expect(denial.status).toBe(401)
      const page = await denial.text()
      expect(page).toContain('Not denied')
      expect(page).toContain('href="/device"')
    }
  })
})

describe('a user code', () => {
  it('of another account is answered as an unknown code, and its login stays pending', async () => {
    const { accessToken } = await service.signIn(persons.next())
    const { userCode, deviceCode } = await started()
    const enter = (code: string) => service.fetch('/device', json({ userCode: code }, bearerOf(accessToken)))
    const [foreign, unknown] = [await enter(userCode), await enter('ZZZZ-ZZZZ')]
    expect([foreign.status, await foreign.json()]).toEqual([unknown.status, await unknown.json()])
    expect(foreign.status).toBe(404)
    expect(await poll(deviceCode)).toMatch(PENDING)
  })

  it('is refused without a session, with a signed-out session and with an expired token', async () => {
    const email = persons.next()
    const { accessToken } = await service.signIn(email)
    const cookie = await signInBrowser(service, email)
    const { userCode, deviceCode } = await started(email)
    const enter = async (headers: Record<string, string>) =>
      outcomeOf(await service.fetch('/device', json({ userCode }, headers)))

    const credentials = { cookie, authorization: `Bearer ${accessToken}` }
    await expectOk('The sign-out', service.fetch('/v1/auth/logout', json({}, credentials)))
    expect(await enter({ cookie })).toBe('401 authenticate_first')
    expect(await enter(bearerOf(accessToken))).toBe('401 authenticate_first')
    expect(await enter({})).toBe('401 authenticate_first')

    const ended = await service.signIn(email, { deviceId: 'third' })
    service.clock.advance({ seconds: 901 })
    expect(await enter(bearerOf(ended.accessToken))).toBe('401 authenticate_first')
    expect(await poll(deviceCode)).toBe('410 expired')
  })

  it('is unknown after its device has its tokens', async () => {
    const email = persons.next()
    const { userCode, deviceCode } = await started(email)
    await service.approveByMail(email)
    expect(await poll(deviceCode)).toBe('200')
    const { accessToken } = await service.signIn(email, { deviceId: 'third' })
    const response = await service.fetch('/device', json({ userCode }, bearerOf(accessToken)))
    expect(await outcomeOf(response)).toBe('404 not_found')
  })
})

it('approves by the link in the start response with an outbox at a loopback address', async () => {
  await using development = await startService({ env: { SVC_MAIL_URL: 'outbox:/tmp/svc-test-outbox' } })
  const { verificationUri, deviceCode } = await development.startLogin('ada@example.com')
  const response = await development.fetch(CONSUME, json({ token: tokenOf(verificationUri) }))
  expect(response.status).toBe(200)
  expect(cookiesOf(response)).toContain('svc_session=')
  const { data } = await development.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
  expect(data?.account).toBe('ada@example.com')
})

it('approves nothing by the link in the start response with an outbox at a public address', async () => {
  await using development = await startService({
    env: { SVC_MAIL_URL: 'outbox:/tmp/svc-test-outbox', SVC_BASE_URL: 'https://svc.example.com' },
  })
  const { verificationUri } = await development.startLogin('ada@example.com')
  const response = await development.fetch(CONSUME, json({ token: tokenOf(verificationUri) }))
  expect(await outcomeOf(response)).toBe('401 unauthorized')
})
