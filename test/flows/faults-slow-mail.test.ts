import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { holdTimeouts } from '../support/held-timeouts.ts'
import { people, tokenOf } from '../support/people.ts'
import { atOnce, json, outcomeOf, tally } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { startSlowMailServer } from '../support/slow-mail-server.ts'
import type { SlowMailServer } from '../support/slow-mail-server.ts'
import { median } from '../support/timing.ts'

const STARTS = 200
/** As many mails as the service has under way at once. */
const CONNECTIONS = 5
/** Several starts for each: making people takes longer than starting. */
const persons = people(22)
let mail: SlowMailServer
let service: TestService

beforeAll(async () => {
  mail = await startSlowMailServer()
  // The links of mails are in the answers: nobody reads the mails.
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
  await service.fetch('/v1/auth/magic/consume', json({ token: tokenOf(verificationUri) }))
  const { data } = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
  return data?.accessToken ?? ''
}

it(
  'two hundred logins at once and a mail server that takes a second a mail: nobody else waits, no mail is lost, none comes late',
  { timeout: 60_000 },
  async () => {
    const caller = service.clientOf(await signIn())
    await expect.poll(() => mail.taken.length).toBe(2)
    const { prisma } = service.database
    const before = mail.taken.length
    mail.msPerMail = 1000

    // What a mail may take is ten seconds; it is over when the test says so.
    using patience = holdTimeouts(10_000)
    let answered = 0
    const emails = Array.from({ length: 20 }, () => persons.next())
    const starts = atOnce(STARTS, async (index) => {
      const email = emails[index % emails.length] ?? ''
      const outcome = await outcomeOf(await start(email))
      answered += 1
      return { email, outcome }
    })
    // Each of them is kept, and then its mail waits.
    await expect.poll(() => prisma.deviceLogin.count(), { timeout: 25_000 }).toBe(1 + STARTS)
    const times: number[] = []
    while (times.length < 40 || answered < 2 * CONNECTIONS) {
      const askedAt = performance.now()
      const [health, models] = await Promise.all([service.fetch('/healthz'), caller.GET('/v1/models')])
      times.push(performance.now() - askedAt)
      expect([health.status, models.response.status]).toEqual([200, 200])
      await sleep(10)
    }
    expect(median(times)).toBeLessThan(100)
    expect(mail.mostConnections()).toBeLessThanOrEqual(CONNECTIONS)

    patience.fire()
    const outcomes = await starts
    const begun = outcomes.filter(({ outcome }) => outcome === '202').map(({ email }) => email)
    expect(tally(outcomes.map(({ outcome }) => outcome))).toEqual({
      '202': begun.length,
      '503 email_unavailable': STARTS - begun.length,
    })
    expect(begun.length).toBeGreaterThanOrEqual(2 * CONNECTIONS)
    expect(await prisma.deviceLogin.count({ where: { status: 'pending' } })).toBe(begun.length)
    expect(await prisma.deviceLogin.count({ where: { status: 'cancelled' } })).toBe(STARTS - begun.length)

    // Nobody stands in line behind mails that are too late: the next one has its turn after those under way.
    mail.msPerMail = 0
    expect((await start(persons.next())).status).toBe(202)
    const taken = mail.taken.slice(before, -1)
    const [arrived, promised] = [tally(taken), tally(begun)]
    expect(emails.filter((email) => (arrived[email] ?? 0) < (promised[email] ?? 0))).toEqual([])
    expect(taken.length).toBeLessThanOrEqual(begun.length + CONNECTIONS)
    expect(mail.mostConnections()).toBeLessThanOrEqual(CONNECTIONS)
  },
)
