import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { completeSession, MAX_DEVICES } from '../../src/control/tokens/complete-session.ts'
import { makeDeviceSessionStore } from '../../src/control/tokens/store.ts'
import { addSeconds } from '../../src/kernel/clock.ts'
import { newRowId } from '../../src/kernel/identifier.ts'
import { newSalt } from '../../src/kernel/secret.ts'
import { people } from '../support/people.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const sessionsOf = (email: string) =>
  service.database.prisma.deviceSession.findMany({
    where: { invitation: { account: { email } } },
    select: { id: true, deviceId: true, revokedReason: true },
    orderBy: { id: 'asc' },
  })

/** The reasons in the audit rows of sessions that have ended. */
async function reasonsOf(ids: readonly string[]): Promise<unknown[]> {
  const rows = await service.database.prisma.auditEvent.findMany({
    where: { kind: 'device_session.revoked', subjectId: { in: [...ids] } },
  })
  return rows.map(({ details }) => details)
}

it('a device that signs in again ends its earlier session, and no session of another device', async () => {
  const email = persons.next()
  await service.signIn(email, { deviceId: 'laptop' })
  await service.signIn(email, { deviceId: 'phone' })
  await service.signIn(email, { deviceId: 'laptop' })
  const sessions = await sessionsOf(email)
  expect(sessions.map(({ deviceId, revokedReason }) => `${deviceId} ${revokedReason}`)).toEqual([
    'laptop replaced',
    'phone null',
    'laptop null',
  ])
  expect(await reasonsOf(sessions.map(({ id }) => id))).toEqual([{ reason: 'replaced' }])
})

it('the device that was seen longest ago makes room for one above the limit', async () => {
  const email = persons.next()
  await service.signIn(email, { deviceId: 'first' })
  const { prisma } = service.database
  const first = await prisma.deviceSession.findFirstOrThrow({ where: { invitation: { account: { email } } } })
  const { id: _id, loginId: _loginId, ...row } = first
  const others = Array.from({ length: MAX_DEVICES - 1 }, (_, index) => {
    return { ...row, deviceId: `device-${index}`, lastSeenAt: addSeconds(row.lastSeenAt, index - 10) }
  })
  // It makes no difference, although it was seen last.
  const expired = {
    ...row,
    deviceId: 'expired',
    lastSeenAt: addSeconds(row.lastSeenAt, 1),
    idleExpiresAt: row.createdAt,
  }
  await prisma.deviceSession.createMany({ data: [...others, expired] })
  await service.signIn(email, { deviceId: 'new' })

  const ended = (await sessionsOf(email)).filter(({ revokedReason }) => revokedReason !== null)
  expect(ended.map(({ deviceId, revokedReason }) => `${deviceId} ${revokedReason}`)).toEqual(['device-0 surplus'])
  expect(await reasonsOf(ended.map(({ id }) => id))).toEqual([{ reason: 'surplus' }])
})

it('of two new sessions of one device that see each other, one stays', async () => {
  const email = persons.next()
  await service.signIn(email, { deviceId: 'one' })
  await service.signIn(email, { deviceId: 'two' })
  const [one, two] = await sessionsOf(email)
  if (!one || !two) throw new Error('There must be two sessions.')
  await service.database.prisma.deviceSession.updateMany({
    where: { id: { in: [one.id, two.id] } },
    data: { deviceId: 'same', noticeTakenAt: null },
  })
  const complete = (id: string) => completeSession(service.database, id, service.clock.now(), '127.0.0.1')

  expect(await complete(one.id)).toEqual({ claimedNotice: true, replaced: [two.id] })
  expect(await complete(two.id)).toEqual({ claimedNotice: false, replaced: [] })
  expect(await complete(one.id)).toEqual({ claimedNotice: false, replaced: [] })
})

describe('what has changed since it was read', () => {
  /** Opens a session as a poll does that has read the login of a person before something changed. */
  async function open(email: string) {
    const { prisma } = service.database
    const login = await prisma.deviceLogin.findFirstOrThrow({ where: { invitation: { account: { email } } } })
    const now = service.clock.now()
    const session = {
      ...{ id: newRowId(now), salt: newSalt(), loginId: login.id, passkeyId: null, clientId: null, isBrowser: false },
      ...{ invitationId: login.invitationId ?? '', deviceId: login.deviceId, deviceName: login.deviceName },
      ...{ createdAt: now, lastSeenAt: now, lastIp: '127.0.0.1' },
      ...{ idleExpiresAt: addSeconds(now, 60), absoluteExpiresAt: addSeconds(now, 60) },
    }
    return makeDeviceSessionStore(service.database).open(session, 'mail', null)
  }

  it('opens no session: a login that was cancelled', async () => {
    const email = persons.next()
    await service.startLogin(email)
    await service.approveByMail(email)
    const where = { invitation: { account: { email } } }
    await service.database.prisma.deviceLogin.updateMany({ where, data: { status: 'cancelled' } })
    expect(await open(email)).toBe('expired')
    expect(await sessionsOf(email)).toEqual([])
  })

  it('opens no session: an invitation that was withdrawn', async () => {
    const email = persons.next()
    await service.startLogin(email)
    await service.approveByMail(email)
    const where = { account: { email } }
    await service.database.prisma.invitation.updateMany({ where, data: { revokedAt: service.clock.now() } })
    expect(await open(email)).toBe('not_invited')
    expect(await sessionsOf(email)).toEqual([])
  })

  it('refreshes nothing: a session that was ended', async () => {
    const email = persons.next()
    await service.signIn(email)
    const [{ id } = { id: '' }] = await sessionsOf(email)
    const store = makeDeviceSessionStore(service.database)
    const read = await store.find(id)
    if (!read) throw new Error('There must be a session.')
    const next = {
      rotatedAt: service.clock.now(),
      ip: '127.0.0.1',
      idleExpiresAt: read.idleExpiresAt,
      fingerprint: 'x',
    }
    await store.revoke(id, 'logout', service.clock.now(), '127.0.0.1')
    expect(await store.rotate(read, next)).toBe(false)
  })
})
