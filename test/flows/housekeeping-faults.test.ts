import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PrismaClient } from '../../generated/prisma/client.ts'
import { startHousekeeping } from '../../src/control/housekeeping/start.ts'
import { makeHousekeepingStore } from '../../src/control/housekeeping/store.ts'
import type { Database } from '../../src/database/client.ts'
import { openDatabase } from '../../src/database/open.ts'
import { addMs } from '../../src/kernel/clock.ts'
import type { Secret } from '../../src/kernel/secret.ts'
import { freshDatabase } from '../support/database.ts'
import { startPostgres } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { lockTable } from '../support/table-lock.ts'
import { waitForValue } from '../support/wait.ts'

const NOW = new Date('2026-11-21T10:00:00Z')
const LONG_AGO = new Date('2026-05-01T10:00:00Z')
const IN_A_MONTH = new Date('2026-12-21T10:00:00Z')

describe('a round of housekeeping', () => {
  let postgres: TestPostgres
  let database: Database
  let url: Secret

  beforeAll(async () => {
    postgres = await startPostgres()
    url = await postgres.newDatabase()
    database = await openDatabase({ kind: 'postgres', url })
  })
  afterAll(async () => {
    await database.close()
    await postgres[Symbol.asyncDispose]()
  })

  it('sweeps the other tables while one is locked, and names the one that it could not sweep', async () => {
    const { prisma } = database
    await writeLogins(prisma, { count: 5, withSession: false })
    await writeBatch(prisma)
    const release = await lockTable(url, 'device_logins', 'ACCESS EXCLUSIVE')
    const swept = await makeHousekeepingStore({ prisma }).sweep(NOW).finally(release)
    expect(swept.rows).toBe(1)
    expect(swept.failures.map(({ table }) => table)).toEqual([
      // Sessions are deleted with their logins.
      ...['device_sessions', 'device_sessions'],
      'device_logins',
    ])
    expect(await makeHousekeepingStore({ prisma }).sweep(NOW)).toEqual({ rows: 5, failures: [] })
  })

  it('leaves rows that are locked for the next round', async () => {
    const { prisma } = database
    await writeLogins(prisma, { count: 5, withSession: false })
    const { sweep } = makeHousekeepingStore({ prisma })
    await prisma.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT id FROM device_logins LIMIT 1 FOR UPDATE`
      expect(await sweep(NOW)).toEqual({ rows: 4, failures: [] })
    })
    expect(await sweep(NOW)).toEqual({ rows: 1, failures: [] })
  })

  it('runs every task whether or not another one fails, and logs one line for all tables', async () => {
    const done: string[] = []
    const failed: object[] = []
    const failures = ['api_keys', 'call_events', 'call_events'].map((table) => ({
      table,
      err: new Error('unavailable'),
    }))
    const log = { debug() {}, info() {}, error() {}, warn: (fields: object) => void failed.push(fields) }
    const store = {
      sweep: async () => (done.push('sweep'), { rows: 0, failures }),
      vacuum: async () => void done.push('vacuum'),
      findTime: async () => NOW,
    }
    const rotateKeys = async () => Promise.reject(new Error('no keys'))
    const stop = startHousekeeping({
      rotateKeys,
      announceLimits: null,
      store,
      clock: { now: () => NOW },
      log,
      intervalMs: 5,
    })
    await waitForValue('two rounds', () => done.slice(0, 4), ['sweep', 'vacuum', 'sweep', 'vacuum'])
    await stop()
    expect(failed.slice(0, 3)).toMatchObject([
      { task: 'rotate_keys' },
      { task: 'sweep', tables: ['api_keys', 'call_events'], err: { message: 'unavailable' } },
      { task: 'rotate_keys' },
    ])
  })

  it('says once that its clock differs from that of the database, and deletes nothing while it is hours ahead', async () => {
    const secondsBehind = [0, 7200, 60, 0, -60]
    const swept: number[] = []
    const warned: [object, string][] = []
    const note = (...line: [object, string]) => void warned.push(line)
    const log = { debug() {}, info: note, error() {}, warn: note }
    const store = {
      sweep: async () => (swept.push(secondsBehind.length), { rows: 0, failures: [] }),
      vacuum: async () => undefined,
      findTime: async () => addMs(NOW, -1000 * (secondsBehind.shift() ?? -60)),
    }
    const clock = { now: () => NOW }
    const stop = startHousekeeping({
      rotateKeys: async () => undefined,
      announceLimits: null,
      store,
      clock,
      log,
      intervalMs: 5,
    })
    await waitForValue('the last time', () => secondsBehind.length, 0)
    await stop()
    expect(swept.slice(0, 3)).toEqual([4, 2, 1])
    expect(warned).toEqual([
      [{ secondsAhead: 7200 }, 'clock.differs'],
      [{}, 'clock.agrees'],
      [{ secondsAhead: -60 }, 'clock.differs'],
    ])
  })

  it('reads the time of the database', async () => {
    const before = new Date()
    const time = await makeHousekeepingStore(database).findTime()
    expect([before <= time, time <= new Date()]).toEqual([true, true])
  })
})

describe('a table with many rows', () => {
  it('is swept in batches, and every old row is reached behind rows that are kept', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    await writeLogins(prisma, { count: 35, withSession: true })
    await writeLogins(prisma, { count: 7, withSession: false })
    const { sweep } = makeHousekeepingStore({ prisma }, { rowsPerBatch: 10 })
    expect(await sweep(NOW)).toEqual({ rows: 7, failures: [] })
    expect(await prisma.deviceLogin.count()).toBe(35)
  })

  it('loses the logins of device sessions together with them', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    await writeLogins(prisma, { count: 25, withSession: true })
    const { sweep } = makeHousekeepingStore({ prisma }, { rowsPerBatch: 10 })
    expect(await sweep(addDays(IN_A_MONTH, 29))).toEqual({ rows: 0, failures: [] })
    expect(await sweep(addDays(IN_A_MONTH, 30))).toEqual({ rows: 25, failures: [] })
    expect(await prisma.deviceLogin.count()).toBe(0)
  })
})

const addDays = (time: Date, days: number) => new Date(time.getTime() + days * 86_400_000)

/** Logins that expired long ago; those with a session that is alive are kept. */
async function writeLogins(prisma: PrismaClient, { count, withSession }: { count: number; withSession: boolean }) {
  const organization = { create: { name: `acme-${crypto.randomUUID()}` } }
  const invitation = await prisma.invitation.create({
    data: {
      role: 'member',
      source: 'admin',
      createdAt: LONG_AGO,
      account: {
        create: { email: `${crypto.randomUUID()}@example.com`, userHandle: userHandle(), createdAt: LONG_AGO },
      },
      team: { create: { name: 'core', organization } },
    },
  })
  for (let index = 0; index < count; index++) {
    const login = await prisma.deviceLogin.create({
      data: {
        invitationId: invitation.id,
        deviceId: 'laptop-1',
        deviceName: 'Laptop',
        deviceCodeHash: crypto.randomUUID(),
        mailTokenHash: crypto.randomUUID(),
        status: 'approved',
        createdAt: LONG_AGO,
        expiresAt: LONG_AGO,
        startIp: '203.0.113.7',
        startUserAgent: 'test',
      },
    })
    if (!withSession) continue
    await prisma.deviceSession.create({
      data: {
        loginId: login.id,
        invitationId: invitation.id,
        deviceId: `device-${index}`,
        deviceName: 'Laptop',
        salt: new Uint8Array(32),
        createdAt: LONG_AGO,
        lastSeenAt: NOW,
        lastIp: '203.0.113.7',
        idleExpiresAt: IN_A_MONTH,
        absoluteExpiresAt: IN_A_MONTH,
      },
    })
  }
}

function userHandle(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(16))
}

async function writeBatch(prisma: PrismaClient): Promise<void> {
  await prisma.callEventBatch.create({ data: { id: 'batch_1', savedAt: LONG_AGO } })
}
