import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { people } from '../support/people.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const refresh = (account: string, refreshToken: string) =>
  service.client.POST('/v1/auth/token/refresh', { body: { account, refreshToken } })
const noticesTo = (email: string) =>
  service.mailbox.mails
    .filter(({ to }) => to.includes(email))
    .map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw)?.[1])
    .filter((subject) => subject !== 'Approve this sign-in')

describe('the owner of an account', () => {
  it('is told of a new device once, with its name, and not of its refreshes or repeated polls', async () => {
    const email = persons.next()
    const { deviceCode } = await service.startLogin(email, { deviceName: 'Kitchen <b>laptop</b>' })
    await service.approveByMail(email)
    const poll = () => service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    const { data } = await poll()
    await poll()
    const [mail] = await service.mailbox.waitFor(email, 'A new device signed in')
    await refresh(email, data?.refreshToken ?? '')
    // A later notice of the same account shows that none was on its way.
    await refresh(email, data?.refreshToken ?? '')
    await service.signIn(email, { deviceId: 'second' })
    await service.mailbox.waitFor(email, 'A new device signed in', 2)

    expect(noticesTo(email)).toEqual(['A new device signed in', 'A new device signed in'])
    expect(mail?.text).toContain('by the link in a mail to you')
    expect(mail?.text).toContain('http://localhost:8787/device')
    expect(mail?.raw.split('text/html')[1]).not.toContain('<b>laptop')
  })

  it('is told when a refresh token was used twice, and it is written down', async () => {
    const email = persons.next()
    const first = await service.signIn(email)
    const second = await refresh(email, first.refreshToken)
    await refresh(email, second.data?.refreshToken ?? '')
    expect((await refresh(email, first.refreshToken)).response.status).toBe(401)

    await service.mailbox.waitFor(email, 'We signed out one of your devices')
    const rows = await service.database.prisma.auditEvent.findMany({
      where: { kind: 'device_session.revoked' },
      orderBy: { id: 'asc' },
    })
    expect(rows.filter(({ details }) => JSON.stringify(details) === '{"reason":"refresh_reuse"}')).toHaveLength(1)
  })

  it('waits for no notice: a mail server that refuses or hangs fails nobody', async () => {
    await using own = await startService({ directory: persons.directory })
    const email = persons.next()
    const { deviceCode } = await own.startLogin(email)
    await own.approveByMail(email)
    own.mailbox.fault = 'refuse-recipient'
    const { response } = await own.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    expect(response.status).toBe(200)
    await expect.poll(() => own.log.map(({ event }) => event)).toContain('notice.mail_failed')
  })
})
