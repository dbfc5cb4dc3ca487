import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { APPROVAL_SUBJECT } from '../support/mailbox.ts'
import { countNewDeviceMails } from '../support/notices.ts'
import { people } from '../support/people.ts'
import { expectData } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { waitUntil } from '../support/wait.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const refresh = (account: string, refreshToken: string) =>
  service.client.POST('/v1/auth/token/refresh', { body: { account, refreshToken } })
/** The subjects of the emails to an address, besides approval emails. */
const noticesTo = (email: string) =>
  service.mailbox.mails
    .filter(({ to }) => to.includes(email))
    .map(({ subject }) => subject.replaceAll('\u200B', ''))
    .filter((subject) => !subject.startsWith(APPROVAL_SUBJECT))

describe('the emails to the owner of an account', () => {
  it('announce a new device once, with its name, and no refreshes or repeated polls', async () => {
    const email = persons.next()
    const { deviceCode } = await service.startLogin(email, { deviceName: 'Kitchen <b>laptop</b>' })
    await service.approveByMail(email)
    const poll = () => service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    const { refreshToken } = expectData('The poll', await poll())
    expectData('The second poll', await poll())
    const [mail] = await service.mailbox.waitFor(email, 'A new device signed in')
    expectData('The refresh', await refresh(email, refreshToken))
    // Emails are sent in order: after a later one, no earlier one can still be on its way.
    expectData('The repeated refresh', await refresh(email, refreshToken))
    await service.signIn(email, { deviceId: 'second' })
    await service.mailbox.waitFor(email, 'A new device signed in', 2)

    expect(noticesTo(email)).toEqual([
      'A new device signed in: Kitchen <b>laptop</b>',
      'A new device signed in: Laptop',
    ])
    expect(mail?.raw).toContain('Auto-Submitted: auto-generated\r\n')
    expect(mail?.text).toContain('by the link in an email to you')
    expect(mail?.text).toContain('http://localhost:8787/device')
    expect(mail?.raw.split('text/html')[1]).not.toContain('<b>laptop')
  })

  it('announce the reuse of a refresh token, which is also in the audit', async () => {
    const email = persons.next()
    const first = await service.signIn(email)
    const second = expectData('The first refresh', await refresh(email, first.refreshToken))
    expectData('The second refresh', await refresh(email, second.refreshToken))
    expect((await refresh(email, first.refreshToken)).response.status).toBe(401)

    await service.mailbox.waitFor(email, 'We signed out one of your devices')
    const rows = await service.database.prisma.auditEvent.findMany({
      where: { kind: 'device_session.revoked' },
      orderBy: { id: 'asc' },
    })
    expect(rows.filter(({ details }) => JSON.stringify(details) === '{"reason":"refresh_reuse"}')).toHaveLength(1)
  })

  it('announce a device once when its first poll failed after opening the session', async () => {
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
    expect(await countNewDeviceMails([service], email)).toBe(1)
  })

  it('delay and fail no poll when the mail server refuses them, and are not sent again', async () => {
    await using own = await startService({ directory: persons.directory })
    const email = persons.next()
    const { deviceCode } = await own.startLogin(email)
    await own.approveByMail(email)
    own.mailbox.fault = 'refuse-recipient'
    const { response } = await own.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    expect(response.status).toBe(200)
    const events = () => own.log.map(({ event }) => event)
    await waitUntil('the failed email in the log', events, (seen) => seen.includes('notice.mail_failed'))

    own.mailbox.fault = 'none'
    const repeated = await own.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    expect(repeated.response.status).toBe(200)
    expect(await countNewDeviceMails([own], email)).toBe(0)
  })
})
