import { afterAll, beforeAll, expect, it } from 'vitest'
import { holdTimeouts } from '../support/network/held-timeouts.ts'
import { people, tokenOf } from '../support/people.ts'
import { atOnce, expectData, expectOk, json, outcomeOf, tally } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { startSlowMailServer } from '../support/network/slow-mail-server.ts'
import type { SlowMailServer } from '../support/network/slow-mail-server.ts'
import { waitForValue, waitUntil, withDeadline } from '../support/wait.ts'

const STARTS = 100
/** The number of emails that the service sends at once. */
const CONNECTIONS = 5
/** Fewer people than starts, because adding a person to the directory takes longer than a start. */
const persons = people(22)
let mail: SlowMailServer
let service: TestService

beforeAll(async () => {
  mail = await startSlowMailServer()
  // The answers contain the links, because this server keeps no emails.
  const env = { SVC_MAIL_URL: mail.url, SVC_DEV_LINKS: '1' }
  service = await startService({ directory: persons.directory, env })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await mail[Symbol.asyncDispose]()
})

const start = (email: string) => service.fetch('/v1/auth/device/start', json({ email, deviceId: 'laptop-1' }))

async function signIn(): Promise<string> {
  const { deviceCode, verificationUri } = await service.startLogin(persons.next())
  const consume = service.fetch('/v1/auth/magic/consume', json({ token: tokenOf(verificationUri) }))
  await expectOk('The approval', consume)
  const polled = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
  return expectData('The poll', polled).accessToken
}

it(
  'serves other callers, and loses and delays no email, when 100 logins start and each email takes a second',
  { timeout: 240_000 },
  async () => {
    const caller = service.clientOf(await signIn())
    await waitForValue('the emails of the sign-in', () => mail.taken.length, 2)
    const { prisma } = service.database
    const before = mail.taken.length
    mail.msPerMail = 1000

    // The time limit of an email is ten seconds; here it ends when the test says so.
    using timeouts = holdTimeouts(10_000)
    let answered = 0
    const emails = Array.from({ length: 20 }, () => persons.next())
    const starts = atOnce(STARTS, async (index) => {
      const email = emails[index % emails.length] ?? ''
      const outcome = await outcomeOf(await start(email))
      answered += 1
      return { email, outcome }
    })
    // Each start saves its login, and then its email waits.
    await waitForValue('the saved logins', () => prisma.deviceLogin.count(), 1 + STARTS, { timeoutMs: 120_000 })
    const callOthers = async () => {
      const [health, models] = await Promise.all([service.fetch('/healthz'), caller.GET('/v1/models')])
      return [health.status, models.response.status]
    }
    for (let times = 0; times < 20; times += 1)
      expect(await withDeadline('other callers to be answered', callOthers())).toEqual([200, 200])
    // More starts wait than are answered, so the calls above were answered while emails waited.
    expect(answered).toBeLessThan(STARTS)
    await waitUntil(
      'answers to the first starts',
      () => answered,
      (count) => count >= 2 * CONNECTIONS,
    )
    expect(mail.maxConnections()).toBeLessThanOrEqual(CONNECTIONS)

    timeouts.fire()
    const outcomes = await starts
    const accepted = outcomes.filter(({ outcome }) => outcome === '202').map(({ email }) => email)
    expect(tally(outcomes.map(({ outcome }) => outcome))).toEqual({
      '202': accepted.length,
      '503 email_unavailable': STARTS - accepted.length,
    })
    expect(accepted.length).toBeGreaterThanOrEqual(2 * CONNECTIONS)
    expect(await prisma.deviceLogin.count({ where: { status: 'pending' } })).toBe(accepted.length)
    expect(await prisma.deviceLogin.count({ where: { status: 'cancelled' } })).toBe(STARTS - accepted.length)

    // Emails past their time limit are not sent, so the next start waits only for those under way.
    mail.msPerMail = 0
    expect((await start(persons.next())).status).toBe(202)
    const taken = mail.taken.slice(before, -1)
    const [arrived, promised] = [tally(taken), tally(accepted)]
    expect(emails.filter((email) => (arrived[email] ?? 0) < (promised[email] ?? 0))).toEqual([])
    expect(taken.length).toBeLessThanOrEqual(accepted.length + CONNECTIONS)
    expect(mail.maxConnections()).toBeLessThanOrEqual(CONNECTIONS)
  },
)
