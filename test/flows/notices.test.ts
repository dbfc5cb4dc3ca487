import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newDeviceMails } from '../support/notices.ts'
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
    expect(mail?.text).toContain('by the link in an email to you')
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

  it('is told once also when the first poll made the session and failed before the mail', async () => {
    const email = persons.next()
    const { deviceCode } = await service.startLogin(email)
    await service.approveByMail(email)
    const { prisma } = service.database
    await prisma.$executeRaw`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE '57014'; END $$`
    await prisma.$executeRaw`
      CREATE TRIGGER refuse BEFORE UPDATE ON device_sessions FOR EACH ROW EXECUTE FUNCTION refuse()`
    const poll = () => service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    const failed = await poll().finally(() => prisma.$executeRaw`DROP FUNCTION refuse CASCADE`)
    expect([
      failed.response.status,
      await prisma.deviceSession.count({ where: { invitation: { account: { email } } } }),
    ]).toEqual([503, 1])
    expect([(await poll()).response.status, (await poll()).response.status]).toEqual([200, 200])
    expect(await newDeviceMails([service], email)).toBe(1)
  })

  it('waits for no notice: a mail server that refuses fails nobody, and is not asked again', async () => {
    await using own = await startService({ directory: persons.directory })
    const email = persons.next()
    const { deviceCode } = await own.startLogin(email)
    await own.approveByMail(email)
    own.mailbox.fault = 'refuse-recipient'
    const { response } = await own.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    expect(response.status).toBe(200)
    await expect.poll(() => own.log.map(({ event }) => event)).toContain('notice.mail_failed')

    own.mailbox.fault = 'none'
    const repeated = await own.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    expect(repeated.response.status).toBe(200)
    expect(await newDeviceMails([own], email)).toBe(0)
  })
})
