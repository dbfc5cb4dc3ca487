import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PrismaClient } from '../../generated/prisma/client.ts'
import { makeHousekeepingStore } from '../../src/control/housekeeping/store.ts'
import { readConfig } from '../../src/config.ts'
import { ROOT } from '../support/source/documents.ts'
import { startSignIn } from '../support/passkeys.ts'
import { signInBrowser } from '../support/people.ts'
import { requestSignInLink } from '../support/sign-in-links.ts'
import { freshDatabase } from '../support/database.ts'
import { startService } from '../support/service.ts'

describe('housekeeping', () => {
  it('deletes expired rows in steps and keeps all audit events', async () => {
    await using service = await startService()
    const { prisma } = service.database
    const { sweep } = makeHousekeepingStore({ prisma })
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
    expect(await rows()).toEqual({ challenges: 0, logins: 1, devices: 1, browsers: 2, signInLinks: 0 })

    service.clock.advance({ days: 20 })
    await sweep(service.clock.now())
    // Lists of members say when a browser was last seen within 30 days.
    expect(await rows()).toMatchObject({ browsers: 2 })

    service.clock.advance({ days: 120 })
    await sweep(service.clock.now())
    expect(await rows()).toEqual({ challenges: 0, logins: 0, devices: 0, browsers: 0, signInLinks: 0 })
    expect(await audited()).toBe(before)
  })

  it('deletes logins that were started after a clock that was ahead has been set back', async () => {
    await using service = await startService()
    const { prisma } = service.database
    const { sweep } = makeHousekeepingStore({ prisma })
    for (const daysToMove of [10, -12]) {
      service.clock.advance({ days: daysToMove })
      await service.startLogin('ada@example.com')
      await sweep(service.clock.now())
      service.clock.advance({ days: 2 })
      await sweep(service.clock.now())
    }
    expect(await prisma.deviceLogin.count()).toBe(0)
  })

  it('deletes call events after 90 days and the names of their batches after 7, in any number', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    const { sweep } = makeHousekeepingStore({ prisma })
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

  it('deletes sums and notices of spending limits after 62 days, and sessions of agents after 90', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    await prisma.$executeRaw`
      INSERT INTO spending_days (team, day, account_id, key_id, spent_nano_usd, unknown_calls, unpriced_calls)
      SELECT '@acme/core', day::date, gen_random_uuid(), gen_random_uuid(), 1, 0, 0
      FROM unnest(ARRAY['2026-09-20', '2026-09-21']) AS day`
    await prisma.$executeRaw`
      INSERT INTO spending_notices (limit_id, account_id, period_start, percent, amount_nano_usd, sent_at)
      SELECT gen_random_uuid(), gen_random_uuid(), '2026-09-01', 80, 1, at::timestamptz
      FROM unnest(ARRAY['2026-09-20T09:00:00Z', '2026-09-20T11:00:00Z']) AS at`
    await prisma.$executeRaw`
      INSERT INTO agent_sessions (team, account_id, session_id, started_at, last_active_at, model)
      SELECT '@acme/core', gen_random_uuid(), 'run', '2026-08-01', at::timestamptz, 'm'
      FROM unnest(ARRAY['2026-08-23T09:00:00Z', '2026-08-23T11:00:00Z']) AS at`
    const swept = await makeHousekeepingStore({ prisma }).sweep(new Date('2026-11-21T10:00:00Z'))
    expect(swept).toEqual({ rows: 3, failures: [] })
    const left = [prisma.spendingDay.count(), prisma.spendingNotice.count(), prisma.agentSession.count()]
    expect(await Promise.all(left)).toEqual([1, 1, 1])
  })

  it('has a rule for every table: old rows are deleted, or it does not grow by itself', async () => {
    const fail = () => Promise.reject(new Error('unavailable'))
    // Only these two functions are called, and each table in which one fails is named.
    const unavailable = { $executeRaw: fail, $queryRaw: fail } as unknown as PrismaClient
    const { failures } = await makeHousekeepingStore({ prisma: unavailable }, { auditDays: 1 }).sweep(new Date())
    const schema = await readFile(path.join(ROOT, 'prisma/schema.prisma'), 'utf8')
    const tables = [...schema.matchAll(/@@map\("(\w+)"\)/g)].map(([, name = '']) => name)
    const ruled = new Set([...failures.map(({ table }) => table), ...Object.keys(KEPT)])
    expect([...ruled].toSorted()).toEqual(tables.toSorted())
  })

  it('deletes old call events behind young ones', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    await writeEvents(prisma, { count: 60, at: '2026-11-20T10:00:00Z' })
    await writeEvents(prisma, { count: 2000, at: '2026-08-01T10:00:00Z' })
    await writeEvents(prisma, { count: 2000, at: '2026-11-20T10:00:00Z' })
    const { sweep } = makeHousekeepingStore({ prisma })
    expect(await sweep(new Date('2026-11-21T10:00:00Z'))).toEqual({ rows: 2000, failures: [] })
    expect(await prisma.callEvent.count()).toBe(2060)
  })

  it('deletes old call events behind more young ones than a batch has', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    // The clock of a gateway was ahead by years.
    await writeEvents(prisma, { count: 120, at: '2030-01-01T10:00:00Z' })
    await writeEvents(prisma, { count: 1000, at: '2026-08-01T10:00:00Z' })
    await writeEvents(prisma, { count: 1000, at: '2026-11-20T10:00:00Z' })
    const { sweep } = makeHousekeepingStore({ prisma }, { rowsPerBatch: 50 })
    await sweep(new Date('2026-11-21T10:00:00Z'))
    const old = await prisma.callEvent.count({ where: { at: { lt: new Date('2026-08-02T10:00:00Z') } } })
    expect(old).toBeLessThanOrEqual(120)
    expect(await prisma.callEvent.count()).toBe(1120 + old)
  })

  it('keeps audit events always, or for SVC_AUDIT_DAYS', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    const at = ['2026-11-10T10:00:00Z', '2026-11-20T10:00:00Z'].map((text) => new Date(text))
    await prisma.auditEvent.createMany({ data: at.map((time) => ({ kind: 'test', at: time })) })
    const now = new Date('2026-11-21T10:00:00Z')
    await makeHousekeepingStore({ prisma }).sweep(now)
    expect(await prisma.auditEvent.count()).toBe(2)
    await makeHousekeepingStore({ prisma }, { auditDays: readConfig({ SVC_AUDIT_DAYS: '10' }).auditDays }).sweep(now)
    expect((await prisma.auditEvent.findMany()).map((event) => event.at)).toEqual(at.slice(1))
  })

  it('stops between two batches', async () => {
    await using database = await freshDatabase()
    await writeEvents(database.prisma, { count: 100, at: '2026-08-01T10:00:00Z' })
    const { sweep } = makeHousekeepingStore(database)
    expect(await sweep(new Date('2026-11-21T10:00:00Z'), AbortSignal.abort())).toEqual({ rows: 0, failures: [] })
  })

  it('writes a checkpoint of an embedded database after much has been written, and not before', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    const lastCheckpoint = async () => {
      const [log] = await prisma.$queryRaw<{ at: string }[]>`SELECT redo_lsn::text AS at FROM pg_control_checkpoint()`
      return log?.at
    }
    const { vacuum } = makeHousekeepingStore(
      { prisma },
      { vacuumAfter: { rows: 1, pages: 1000, logBytes: 128 * 1024 } },
    )
    await prisma.$executeRaw`CHECKPOINT`
    const before = await lastCheckpoint()
    await writeEvents(prisma, { count: 10, at: '2026-08-23T10:00:00Z' })
    await vacuum()
    expect(await lastCheckpoint()).toBe(before)
    await writeEvents(prisma, { count: 500, at: '2026-08-23T10:00:00Z' })
    await vacuum()
    expect(await lastCheckpoint()).not.toBe(before)
  })

  it('analyzes a table of an embedded database when it has doubled', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    const { vacuum } = makeHousekeepingStore(
      { prisma },
      {
        vacuumAfter: { rows: 1000, pages: 10, logBytes: 128 * 1024 * 1024 },
      },
    )
    const known = async () => {
      await vacuum()
      const [table] = await prisma.$queryRaw<{ rows: number }[]>`
        SELECT reltuples::int AS rows FROM pg_class WHERE relname = 'call_events'`
      return table?.rows
    }
    // Other tests have used its files.
    await prisma.$executeRaw`TRUNCATE call_events`
    await writeEvents(prisma, { count: 10, at: '2026-08-23T10:00:00Z' })
    expect(await known()).toBe(-1)
    await writeEvents(prisma, { count: 990, at: '2026-08-23T10:00:00Z' })
    expect(await known()).toBe(1000)
    await writeEvents(prisma, { count: 500, at: '2026-08-23T10:00:00Z' })
    expect(await known()).toBe(1000)
    await writeEvents(prisma, { count: 600, at: '2026-08-23T10:00:00Z' })
    expect(await known()).toBe(2100)
  })

  it('reuses the space of deleted rows of an embedded database', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    const { sweep, vacuum } = makeHousekeepingStore(
      { prisma },
      {
        vacuumAfter: { rows: 1000, pages: 1000, logBytes: 256 * 1024 },
      },
    )
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

/** Tables without a rule, and why they do not need one. */
const KEPT = {
  organizations: 'of the directory file',
  teams: 'of the directory file',
  team_models: 'of the directory file',
  models: 'of the directory file',
  backends: 'of the directory file',
  directory_state: 'one row',
  accounts: 'of people who were invited',
  invitations: 'of people who were invited',
  passkeys: 'each is made by a person',
  service_accounts: 'each is made by an admin',
  admin_models: 'each is made by an admin',
  admin_backends: 'each is made by an admin',
  spending_limits: 'each is made by an admin',
  signing_keys: 'a few in a year',
  usage_days: 'the history that reports show',
  usage_team_days: 'the history that reports show',
  usage_caller_months: 'the history that reports show',
}

function writeEvents(prisma: PrismaClient, { count, at }: { count: number; at: string }): Promise<number> {
  return prisma.$executeRaw`
    INSERT INTO call_events (kind, at, request_id, account_id, team, device_session_id, style, model, served_by)
    SELECT 'finished', ${at}::timestamptz, gen_random_uuid(), gen_random_uuid(), '@acme/core', gen_random_uuid(), 'chat', 'm', 'vendora'
    FROM generate_series(1, ${count}::int)`
}
