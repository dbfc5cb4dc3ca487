import { describe, expect, it } from 'vitest'
import type { PrismaClient } from '../../generated/prisma/client.ts'
import { makeHousekeepingStore } from '../../src/control/housekeeping/store.ts'
import { readConfig } from '../../src/config.ts'
import { startSignIn } from '../support/passkeys.ts'
import { signInBrowser } from '../support/people.ts'
import { requestSignInLink } from '../support/sign-in-links.ts'
import { freshDatabase } from '../support/database.ts'
import { startService } from '../support/service.ts'

describe('housekeeping', () => {
  it('deletes expired rows in steps and keeps all audit events', async () => {
    await using service = await startService()
    const { prisma } = service.database
    const { sweep } = makeHousekeepingStore(prisma)
    const rows = async () => ({
      challenges: await prisma.webauthnChallenge.count(),
      logins: await prisma.deviceLogin.count(),
      devices: await prisma.deviceSession.count(),
      browsers: await prisma.browserSession.count(),
      signInLinks: await prisma.signInLink.count(),
    })
    const audited = () => prisma.auditEvent.count()

    await service.signIn('ada@example.com')
    await signInBrowser(service, 'ada@example.com')
    await startSignIn(service)
    await requestSignInLink(service, 'ada@example.com')
    const before = await audited()
    expect(await sweep(service.clock.now())).toEqual({ rows: 0, failures: [] })

    service.clock.advance({ seconds: 300 })
    await sweep(service.clock.now())
    expect(await rows()).toEqual({ challenges: 0, logins: 2, devices: 1, browsers: 2, signInLinks: 1 })

    service.clock.advance({ days: 9 })
    await sweep(service.clock.now())
    expect(await rows()).toEqual({ challenges: 0, logins: 1, devices: 1, browsers: 0, signInLinks: 0 })

    service.clock.advance({ days: 120 })
    await sweep(service.clock.now())
    expect(await rows()).toEqual({ challenges: 0, logins: 0, devices: 0, browsers: 0, signInLinks: 0 })
    expect(await audited()).toBe(before)
  })

  it('deletes call events after 90 days and the names of their batches after 7, in any number', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    const { sweep } = makeHousekeepingStore(prisma)
    const now = new Date('2026-11-21T10:00:00Z')
    await writeEvents(prisma, { count: 2500, at: '2026-08-23T10:00:00Z' })
    await writeEvents(prisma, { count: 10, at: '2026-08-23T10:00:01Z' })
    await prisma.$executeRaw`
      INSERT INTO call_event_batches (id, saved_at)
      VALUES ('batch_1', '2026-11-14T10:00:00Z'), ('batch_2', '2026-11-14T10:00:01Z')`
    expect(await sweep(now)).toEqual({ rows: 2500 + 1, failures: [] })
    expect(await prisma.callEvent.count()).toBe(10)
    expect(await prisma.callEventBatch.count()).toBe(1)
  })

  it('deletes old call events behind young ones', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    await writeEvents(prisma, { count: 60, at: '2026-11-20T10:00:00Z' })
    await writeEvents(prisma, { count: 2000, at: '2026-08-01T10:00:00Z' })
    await writeEvents(prisma, { count: 2000, at: '2026-11-20T10:00:00Z' })
    const { sweep } = makeHousekeepingStore(prisma)
    expect(await sweep(new Date('2026-11-21T10:00:00Z'))).toEqual({ rows: 2000, failures: [] })
    expect(await prisma.callEvent.count()).toBe(2060)
  })

  it('keeps audit events always, or for SVC_AUDIT_DAYS', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    const at = ['2026-11-10T10:00:00Z', '2026-11-20T10:00:00Z'].map((text) => new Date(text))
    await prisma.auditEvent.createMany({ data: at.map((time) => ({ kind: 'test', at: time })) })
    const now = new Date('2026-11-21T10:00:00Z')
    await makeHousekeepingStore(prisma).sweep(now)
    expect(await prisma.auditEvent.count()).toBe(2)
    await makeHousekeepingStore(prisma, { auditDays: readConfig({ SVC_AUDIT_DAYS: '10' }).auditDays }).sweep(now)
    expect((await prisma.auditEvent.findMany()).map((event) => event.at)).toEqual(at.slice(1))
  })

  it('stops between two batches', async () => {
    await using database = await freshDatabase()
    await writeEvents(database.prisma, { count: 100, at: '2026-08-01T10:00:00Z' })
    const { sweep } = makeHousekeepingStore(database.prisma)
    expect(await sweep(new Date('2026-11-21T10:00:00Z'), AbortSignal.abort())).toEqual({ rows: 0, failures: [] })
  })

  it('writes a checkpoint of an embedded database after much has been written, and not before', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    const lastCheckpoint = async () => {
      const [log] = await prisma.$queryRaw<{ at: string }[]>`SELECT redo_lsn::text AS at FROM pg_control_checkpoint()`
      return log?.at
    }
    const { vacuum } = makeHousekeepingStore(prisma, { vacuumAfter: { rows: 1, logBytes: 128 * 1024 } })
    await prisma.$executeRaw`CHECKPOINT`
    const before = await lastCheckpoint()
    await writeEvents(prisma, { count: 10, at: '2026-08-23T10:00:00Z' })
    await vacuum()
    expect(await lastCheckpoint()).toBe(before)
    await writeEvents(prisma, { count: 500, at: '2026-08-23T10:00:00Z' })
    await vacuum()
    expect(await lastCheckpoint()).not.toBe(before)
  })

  it('reuses the space of deleted rows of an embedded database', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    const { sweep, vacuum } = makeHousekeepingStore(prisma, { vacuumAfter: { rows: 1000, logBytes: 256 * 1024 } })
    const bytes = async () => {
      const [size] = await prisma.$queryRaw<{ bytes: number }[]>`SELECT pg_relation_size('call_events')::int AS bytes`
      return size?.bytes
    }
    const round = async () => {
      await writeEvents(prisma, { count: 1000, at: '2026-08-23T10:00:00Z' })
      await sweep(new Date('2026-11-21T10:00:00Z'))
      await vacuum()
      return bytes()
    }
    const once = await round()
    expect(await round()).toBe(once)
  })
})

function writeEvents(prisma: PrismaClient, { count, at }: { count: number; at: string }): Promise<number> {
  return prisma.$executeRaw`
    INSERT INTO call_events (kind, at, request_id, account_id, team, device_session_id, style, model, served_by)
    SELECT 'finished', ${at}::timestamptz, gen_random_uuid(), gen_random_uuid(), '@acme/core', gen_random_uuid(), 'chat', 'm', 'vendora'
    FROM generate_series(1, ${count}::int)`
}
