import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { Prisma } from '../../generated/prisma/client.ts'
import { isDatabaseUnavailable, mayWriteLater } from '../../src/database/errors.ts'
import { openDatabase } from '../../src/database/open.ts'
import type { Database } from '../../src/database/client.ts'
import { readDirectoryFile } from '../../src/directory/rules.ts'
import { makeDirectoryStore } from '../../src/directory/store.ts'
import { withRetry } from '../../src/database/errors.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { migrate, readMigrations } from '../../src/database/migrations.ts'
import { PLANNED_FOR_VALUES } from '../../src/database/planned-for-values.ts'
import { MAX_CONNECTION_SECONDS } from '../../src/database/postgres/connections.ts'
import { connectionForMigrating } from '../../src/database/postgres/postgres.ts'
import { inTransaction } from '../../src/database/transaction.ts'
import { lookUpAs } from '../support/loopback.ts'
import { holdTimeouts } from '../support/network/held-timeouts.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { startPostgres } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { recordingLog } from '../support/recording-log.ts'
import type { LogLine } from '../support/recording-log.ts'
import { countWaiting, lockTable } from '../support/table-lock.ts'
import { waitForValue, withDeadline } from '../support/wait.ts'

it.each([
  [new Error('changed my mind')],
  [new TypeError('fetch failed')],
  [Object.assign(new Error('Unique constraint failed'), { code: 'P2002' })],
  [Object.assign(new Error('no row'), { code: 'P2025' })],
  [null],
  [undefined],
  ['ECONNREFUSED'],
])('does not count %s as an unavailable database', (error) => {
  expect(isDatabaseUnavailable(error)).toBe(false)
})

it.each([
  [Object.assign(new Error('too many open files'), { code: 'EMFILE', syscall: 'connect' })],
  [new Error('wrapped', { cause: Object.assign(new Error('not permitted'), { code: '42501', severity: 'FATAL' }) })],
])('counts %s as an unavailable database, because there is no connection', (error) => {
  expect(isDatabaseUnavailable(error)).toBe(true)
})

it.each([
  [Object.assign(new Error('permission denied for table CallEvent'), { code: '42501' }), true],
  [new Error('wrapped', { cause: Object.assign(new Error('no such column'), { originalCode: '42703' }) }), true],
  [Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' }), true],
  [Object.assign(new Error('numeric value out of range'), { code: '22003' }), false],
  [new TypeError('not a function'), false],
])('says whether a write may succeed after %s: %s', (error, expected) => {
  expect(mayWriteLater(error)).toBe(expected)
})

describe('a Postgres server', () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterEach(() => void vi.restoreAllMocks())
  afterAll(() => server.stop())

  async function open(): Promise<Database> {
    return openDatabase({ kind: 'postgres', url: await server.newDatabase() })
  }

  /** One query of each kind that requests make. */
  const queries: Record<string, (database: Database) => Promise<unknown>> = {
    read: ({ prisma }) => prisma.account.findFirst(),
    raw: ({ prisma }) => prisma.$queryRaw`SELECT 1`,
    write: ({ prisma }) => prisma.model.updateMany({ data: { owner: 'svc' } }),
    batch: ({ prisma }) => prisma.$transaction([prisma.account.count(), prisma.team.count()]),
    transaction: ({ prisma }) =>
      prisma.$transaction(async (tx) => [await tx.account.count(), await tx.team.count()], {
        isolationLevel: 'Serializable',
      }),
  }

  async function expectUnavailable(database: Database) {
    const failing = Promise.allSettled(Object.values(queries).map((ask) => ask(database)))
    for (const outcome of await withDeadline('queries to fail', failing)) {
      expect(outcome.status).toBe('rejected')
      if (outcome.status === 'rejected')
        expect({ unavailable: isDatabaseUnavailable(outcome.reason), error: outcome.reason }).toMatchObject({
          unavailable: true,
        })
    }
  }

  async function expectAvailable(database: Database) {
    await Promise.all(Object.values(queries).map((ask) => ask(database)))
    expect(await database.ping()).toBe(true)
  }

  async function expectPing(database: Database, answer: boolean) {
    expect(await withDeadline('the ping', database.ping())).toBe(answer)
  }

  it('is migrated once by ten concurrent starts', async () => {
    const url = await server.newEmptyDatabase()
    const opened = await Promise.all(Array.from({ length: 10 }, () => openDatabase({ kind: 'postgres', url })))
    const one = await openDatabase({ kind: 'postgres', url })
    const rows = await one.prisma.$queryRaw<{ name: string }[]>`
      SELECT migration_name AS name FROM _prisma_migrations ORDER BY started_at`
    expect(rows).toEqual((await readMigrations()).map(({ name }) => ({ name })))
    await Promise.all([one, ...opened].map(({ close }) => close()))
  })

  it('is migrated once, and the log names the migrations', async () => {
    const url = await server.newEmptyDatabase()
    const lines: LogLine[] = []
    for (const _start of [1, 2]) await (await openDatabase({ kind: 'postgres', url }, recordingLog(lines))).close()
    const migrations = (await readMigrations()).map(({ name }) => name)
    expect(lines).toMatchObject([{ event: 'database.migrated', fields: { migrations } }])
  })

  it('is migrated without the timeout that it has for statements', async () => {
    const url = await server.newDatabase()
    const name = new URL(url.reveal()).pathname.slice(1)
    const before = await openDatabase({ kind: 'postgres', url })
    await before.prisma.$executeRawUnsafe(`ALTER DATABASE ${name} SET statement_timeout = '100ms'`)
    const locked = Promise.withResolvers<null>()
    const migrating = before.prisma.$transaction(async (tx) => {
      // The lock of migrations.
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(72707369)`
      locked.resolve(null)
      await tx.$executeRaw`SELECT pg_sleep(0.5)`
    })
    await locked.promise
    const database = await openDatabase({ kind: 'postgres', url })
    await migrating
    await expectAvailable(database)
    await Promise.all([database.close(), before.close()])
  })

  it('is opened by a user who may read and write the tables, but not create any', async () => {
    const url = await server.newDatabase()
    const owner = await openDatabase({ kind: 'postgres', url })
    await owner.prisma.$executeRaw`CREATE ROLE svc_app LOGIN PASSWORD 'app'`
    await owner.prisma.$executeRaw`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO svc_app`
    const ofApp = Object.assign(new URL(url.reveal()), { username: 'svc_app', password: 'app' })
    const database = await openDatabase({ kind: 'postgres', url: new Secret(ofApp.href) })
    await expectAvailable(database)
    await Promise.all([database.close(), owner.close()])
  })

  it('goes on serving while a migration waits for a backup, which the log names', async () => {
    const url = await server.newDatabase()
    const database = await openDatabase({ kind: 'postgres', url })
    const release = await lockTable(new Secret(`${url.reveal()}?application_name=backup`), 'teams', 'EXCLUSIVE')
    const client = new pg.Client(url.reveal())
    await client.connect()
    const lines: LogLine[] = []
    const next = { name: '29990101000000_next', sql: 'ALTER TABLE teams ADD COLUMN next TEXT', checksum: 'any' }
    const migrating = migrate(connectionForMigrating(client), [...(await readMigrations()), next], recordingLog(lines))

    await waitForValue('the migration to wait', () => countWaiting(database), 1)
    // This statement waits for the migration, which gives way before the statement has waited for too long.
    expect(await database.prisma.team.count()).toBe(0)
    await waitForValue('a line of the log', () => lines.length, 1)
    const holders = [expect.stringMatching(/^backup \d+$/)]
    expect(lines).toMatchObject([{ event: 'database.migration_waiting', fields: { migration: next.name, holders } }])
    await release()
    expect(await migrating).toEqual([next.name])
    await Promise.all([client.end(), database.close()])
  })

  it.each([
    ['timezone', 'America/New_York', 'UTC'],
    ['datestyle', 'German, DMY', 'ISO'],
    ['bytea_output', 'escape', 'hex'],
    ['search_path', 'information_schema', 'public'],
  ])(
    'is not opened over connections whose %s is %s, as behind a pooler that drops their options',
    async (name, is, should) => {
      const options = `-c timezone=UTC -c ${name}=${is.replace(' ', '\\ ')}`
      const url = new Secret(`${(await server.newDatabase()).reveal()}?options=${encodeURIComponent(options)}`)
      await expect(openDatabase({ kind: 'postgres', url })).rejects.toThrow(`SET ${name} TO '${should}'`)
    },
  )

  it('is named in the advice for a pooler that drops the options of connections', async () => {
    const url = new Secret(`${(await server.newDatabase()).reveal()}?options=-c%20timezone%3DAmerica/New_York`)
    // Without a name in the URL, the server takes that of the user.
    const unnamed = new Secret(url.reveal().replace(/\/\w+\?/, '/?'))
    const advice = `ALTER DATABASE "postgres" SET timezone TO 'UTC'`
    await expect(openDatabase({ kind: 'postgres', url: unnamed })).rejects.toThrow(advice)
  })

  it('is not opened over connections that clients share, as behind a pooler that shares them by transaction', async () => {
    const url = await server.newDatabase()
    const database = await openDatabase({ kind: 'postgres', url })
    // Hides the one of the system, so that all clients seem to have one process of the server.
    await database.prisma.$executeRaw`CREATE FUNCTION pg_backend_pid() RETURNS int LANGUAGE sql RETURN 1`
    const options = '-c%20timezone%3DUTC%20-c%20search_path%3Dpublic,pg_catalog'
    const shared = new Secret(`${url.reveal()}?options=${options}`)
    await expect(openDatabase({ kind: 'postgres', url: shared })).rejects.toThrow('session pooling')
    await database.close()
  })

  it('gets the directory once from ten concurrent starts', async () => {
    const url = await server.newDatabase()
    const opened = await Promise.all(Array.from({ length: 10 }, () => openDatabase({ kind: 'postgres', url })))
    const read = readDirectoryFile(
      'organizations: [{ name: acme, teams: [{ name: core, members: [{ email: ada@example.com }] }] }]',
    )
    if ('mistakes' in read) throw new Error(read.mistakes.join())

    await Promise.all(
      opened.map(({ prisma }) => makeDirectoryStore({ prisma }).applyDirectory(read.directory, new Date())),
    )
    const [database] = opened
    expect(await database?.prisma.auditEvent.findMany({ select: { kind: true }, orderBy: { id: 'asc' } })).toEqual([
      { kind: 'team.created' },
      { kind: 'invitation.created' },
    ])
    await Promise.all(opened.map(({ close }) => close()))
  })

  it('stores times and bytes correctly, and finds its tables, whatever a database has set for its connections', async () => {
    const url = await server.newDatabase()
    const name = new URL(url.reveal()).pathname.slice(1)
    const admin = new pg.Client(url.reveal())
    await admin.connect()
    // By default, a schema with the name of the user is searched first.
    await admin.query(`
      CREATE SCHEMA AUTHORIZATION CURRENT_USER;
      ALTER DATABASE ${name} SET timezone = 'America/New_York';
      ALTER DATABASE ${name} SET datestyle = 'German, DMY';
      ALTER DATABASE ${name} SET bytea_output = 'escape'`)
    await admin.end()
    // Connections that are opened after this have these settings.
    const database = await openDatabase({ kind: 'postgres', url })
    const at = new Date('2026-07-01T12:34:56.789Z')
    await database.prisma.auditEvent.create({ data: { kind: 'test', at } })
    expect((await database.prisma.auditEvent.findFirstOrThrow()).at).toEqual(at)
    const raw = await database.prisma.$queryRaw`
      SELECT extract(epoch FROM at)::float8 AS seconds, at, '\\x00ff5c'::bytea AS bytes FROM audit_events`
    expect(raw).toEqual([{ seconds: at.getTime() / 1000, at, bytes: new Uint8Array([0, 0xff, 0x5c]) }])
    await database.close()
  })

  /** Makes the first two callers of `meet` wait for each other, so that their transactions overlap. */
  function makeMeetingPoint() {
    const together = Promise.withResolvers<true>()
    const meeting = { visits: 0, meet: () => (++meeting.visits === 2 && together.resolve(true), together.promise) }
    return meeting
  }

  it('parses and plans a statement once for each connection, except where the plan depends on the values', async () => {
    const database = await open()
    const kept = await database.prisma.$transaction(async (tx) => {
      const mark = Prisma.raw(PLANNED_FOR_VALUES)
      for (let id = 0; id < 8; id += 1) {
        await tx.model.findMany({ where: { id: `model-${id}` } })
        await tx.$queryRaw`${mark} SELECT id FROM models WHERE id = ${`model-${id}`}`
      }
      return tx.$queryRaw`SELECT custom_plans::int AS custom, generic_plans::int AS generic
        FROM pg_prepared_statements WHERE statement LIKE '%models%' AND statement NOT LIKE '%pg_prepared%'`
    })
    // Postgres plans each statement five times for its values before it compares.
    expect(kept).toEqual([{ custom: 5, generic: 3 }])
    await database.close()
  })

  it('does not keep statements with a list, of which there is one for each length', async () => {
    const database = await open()
    const kept = await database.prisma.$transaction(async (tx) => {
      for (const names of [['one'], ['two', 'three'], ['four', 'five', 'six']]) {
        await tx.organization.createMany({ data: names.map((name) => ({ name })) })
        await tx.organization.findMany({ where: { name: { in: names } } })
      }
      return tx.$queryRaw<{ statement: string }[]>`
        SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%"organizations"%'`
    })
    const ofOneName = [expect.stringContaining('INSERT'), expect.stringContaining('SELECT')]
    expect(kept.map(({ statement }) => statement).toSorted()).toEqual(ofOneName)
    await database.close()
  })

  it('gets a transaction again after a serialization failure', async () => {
    const database = await open()
    const { prisma } = database
    const meeting = makeMeetingPoint()
    const count = () =>
      withRetry(() =>
        prisma.$transaction(
          async (tx) => {
            const seen = await tx.organization.count()
            await meeting.meet()
            await tx.organization.create({ data: { name: `after-${seen}` } })
          },
          { isolationLevel: 'Serializable' },
        ),
      )
    await Promise.all([count(), count()])
    expect(meeting.visits).toBeGreaterThan(2)
    const rows = await prisma.organization.findMany({ orderBy: { name: 'asc' } })
    expect(rows.map(({ name }) => name)).toEqual(['after-0', 'after-1'])
    await database.close()
  })

  it('gets a transaction again after a deadlock', async () => {
    const database = await open()
    const { prisma } = database
    await prisma.model.createMany({
      data: ['a', 'b'].map((id) => ({ id, displayName: '', owner: 'none', createdAt: new Date() })),
    })
    const meeting = makeMeetingPoint()
    const claim = (owner: string, [first, second]: [string, string]) =>
      inTransaction(prisma, async (tx) => {
        await tx.model.update({ where: { id: first }, data: { owner } })
        await meeting.meet()
        await tx.model.update({ where: { id: second }, data: { owner } })
      })
    await Promise.all([claim('ada', ['a', 'b']), claim('bob', ['b', 'a'])])
    expect(meeting.visits).toBeGreaterThan(2)
    const owners = (await prisma.model.findMany()).map(({ owner }) => owner)
    expect(new Set(owners).size).toBe(1)
    await database.close()
  })

  it('is unavailable when a transaction fails in all retries', async () => {
    const conflict = Object.assign(new Error('write conflict'), { code: 'P2034' })
    let attempts = 0
    const error = await withRetry(() => (attempts++, Promise.reject(conflict))).catch((thrown: unknown) => thrown)
    expect(attempts).toBe(8)
    expect(error).toBe(conflict)
    expect(isDatabaseUnavailable(error)).toBe(true)
  })

  it('keeps nothing of a transaction during which it was frozen', async () => {
    const database = await open()
    const transaction = database.prisma.$transaction(async (tx) => {
      await tx.organization.create({ data: { name: 'half' } })
      await server.freeze()
      await tx.organization.create({ data: { name: 'done' } })
    })
    const failure = transaction.catch((thrown: unknown) => thrown)
    const error: unknown = await withDeadline('the transaction to fail', failure)
    await expectPing(database, false)
    server.thaw()

    expect(isDatabaseUnavailable(error)).toBe(true)
    await waitForValue('the rows of the transaction', () => database.prisma.organization.findMany(), [])
    await database.close()
  })

  it('is unavailable while it accepts no connections to the database, as during maintenance', async () => {
    const url = await server.newDatabase()
    const database = await openDatabase({ kind: 'postgres', url })
    const other = await open()
    const allow = (isAllowed: boolean) =>
      other.prisma.$executeRawUnsafe(
        `ALTER DATABASE ${new URL(url.reveal()).pathname.slice(1)} ALLOW_CONNECTIONS ${isAllowed}`,
      )
    await allow(false)
    await database.prisma.$queryRaw`SELECT pg_terminate_backend(pg_backend_pid())`.catch(() => undefined)
    await expectUnavailable(database)
    await allow(true)
    await expectAvailable(database)
    await Promise.all([database.close(), other.close()])
  })

  it('gets writes again over new connections after those that were made during a failover refused them', async () => {
    const url = await server.newDatabase()
    using lifetimes = holdTimeouts(MAX_CONNECTION_SECONDS * 1000)
    const [database, other] = [await openDatabase({ kind: 'postgres', url }), await open()]
    const name = new URL(url.reveal()).pathname.slice(1)
    const write = () => database.prisma.$transaction((tx) => tx.organization.create({ data: { name: 'acme' } }))
    // A session keeps the value that it began with, as a replica stays one.
    await other.prisma.$executeRawUnsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    expect(await database.prisma.organization.count()).toBe(0)
    await other.prisma.$executeRawUnsafe(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
    const refused: unknown = await write().catch((thrown: unknown) => thrown)
    expect(isDatabaseUnavailable(refused)).toBe(true)
    lifetimes.fire()
    await write()
    expect(await database.prisma.organization.count()).toBe(1)
    await Promise.all([database.close(), other.close()])
  })

  it('is not ready while it is read-only, as a replica is, and without its tables', async () => {
    const url = await server.newDatabase()
    const [database, other] = [await openDatabase({ kind: 'postgres', url }), await open()]
    const name = new URL(url.reveal()).pathname.slice(1)
    await other.prisma.$executeRawUnsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    await expectPing(database, false)
    await other.prisma.$executeRawUnsafe(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
    // Over a new connection.
    await expectPing(database, true)
    // As in a database that was created again.
    await database.prisma.$executeRaw`DROP SCHEMA public CASCADE`
    await expectPing(database, false)
    await Promise.all([database.close(), other.close()])
  })

  it('is unavailable when it ends the connection of a transaction', async () => {
    const database = await open()
    const broken: unknown = await database.prisma
      .$transaction(async (tx) => {
        await tx.account.count()
        await server.breakConnections()
        return tx.account.count()
      })
      .catch((thrown: unknown) => thrown)
    expect(isDatabaseUnavailable(broken)).toBe(true)
    await database.close()
  })

  // Concurrent, because both only wait and each has its own database.
  it.concurrent('refuses queries with a timeout while all connections are taken', async () => {
    const database = await open()
    const release = Promise.withResolvers<true>()
    const held = Array.from({ length: 10 }, () => Promise.withResolvers<true>())
    const holders = held.map(({ resolve }) =>
      database.prisma.$transaction(async (tx) => {
        await tx.account.count()
        resolve(true)
        await release.promise
      }),
    )
    await Promise.all(held.map(({ promise }) => promise))
    await expectUnavailable(database)
    release.resolve(true)
    await Promise.all(holders)
    await expectAvailable(database)
    await database.close()
  })

  it.concurrent('cancels a slow query, and its connection stays usable', async () => {
    const database = await open()
    const slow: unknown = await database.prisma.$queryRaw`SELECT pg_sleep(5)`.catch((thrown: unknown) => thrown)
    expect(isDatabaseUnavailable(slow)).toBe(true)
    await expectAvailable(database)
    await database.close()
  })

  it.each<[string, () => void, RegExp]>([
    ['at one address', () => undefined, /^connect ECONNREFUSED 127\.0\.0\.1:\d+$/],
    ['at several addresses', () => lookUpAs('127.0.0.1', '::1'), /^ECONNREFUSED$/],
  ])(
    'is reported once as disconnected, with the reason, and as connected again, %s',
    async (_where, prepare, reason) => {
      prepare()
      const url = new Secret((await server.newDatabase()).reveal().replace('127.0.0.1', 'localhost'))
      const lines: LogLine[] = []
      const database = await openDatabase({ kind: 'postgres', url }, recordingLog(lines))
      await server.kill()
      for (let times = 0; times < 3; times += 1) await expectPing(database, false)
      expect(lines).toMatchObject([
        { level: 'warn', event: 'database.disconnected', fields: { reason: expect.stringMatching(reason) as string } },
      ])
      await server.restart()
      await waitForValue('the database', () => database.ping(), true)
      expect(lines.slice(1)).toEqual([{ level: 'info', event: 'database.reconnected', fields: {} }])
      await database.close()
    },
  )

  it('is reported once as refusing what logins need, with the reason, and as accepting it again', async () => {
    const url = await server.newDatabase()
    const lines: LogLine[] = []
    const database = await openDatabase({ kind: 'postgres', url }, recordingLog(lines))
    await database.prisma.$executeRaw`ALTER TABLE directory_state RENAME TO away`
    for (let times = 0; times < 3; times += 1) await expectPing(database, false)
    const reason = 'relation "directory_state" does not exist'
    expect(lines).toEqual([{ level: 'warn', event: 'database.refused', fields: { reason } }])
    await database.prisma.$executeRaw`ALTER TABLE away RENAME TO directory_state`
    await expectPing(database, true)
    expect(lines.slice(1)).toEqual([{ level: 'info', event: 'database.accepted', fields: {} }])
    await database.close()
  })

  it('is reported as disconnected when a proxy in between closes each connection', async () => {
    const direct = await server.newDatabase()
    await using proxy = await startTcpProxy([Number(new URL(direct.reveal()).port)])
    const url = new Secret(direct.reveal().replace(/:\d+\/test/, `:${proxy.port}/test`))
    const lines: LogLine[] = []
    const database = await openDatabase({ kind: 'postgres', url }, recordingLog(lines))
    await expectPing(database, true)
    await server.kill()
    for (let times = 0; times < 3; times += 1) await expectPing(database, false)
    const reason = 'Connection terminated unexpectedly'
    expect(lines).toEqual([{ level: 'warn', event: 'database.disconnected', fields: { reason } }])
    await server.restart()
    await waitForValue('the database', () => database.ping(), true)
    expect(lines.slice(1)).toEqual([{ level: 'info', event: 'database.reconnected', fields: {} }])
    await database.close()
  })

  it('is reported as disconnected when the server refuses its connections, with the reason of the server', async () => {
    const url = await server.newDatabase()
    const lines: LogLine[] = []
    const database = await openDatabase({ kind: 'postgres', url }, recordingLog(lines))
    const name = new URL(url.reveal()).pathname.slice(1)
    const admin = new pg.Client(url.reveal().replace(name, 'postgres'))
    await admin.connect()
    await admin.query(`ALTER DATABASE ${name} RENAME TO ${name}_moved`)
    await expectPing(database, false)
    expect(lines).toMatchObject([
      { event: 'database.disconnected', fields: { reason: `database "${name}" does not exist` } },
    ])
    await admin.query(`ALTER DATABASE ${name}_moved RENAME TO ${name}`)
    await admin.end()
    await expectPing(database, true)
    expect(lines.slice(1)).toMatchObject([{ event: 'database.reconnected' }])
    await database.close()
  })

  it('is unavailable after it is closed', async () => {
    const database = await open()
    await database.close()
    await expectUnavailable(database)
  })

  it.each<[string, (url: string) => string, RegExp]>([
    ['an unknown name', (url) => `${url}_nowhere`, /127\.0\.0\.1:\d+\/test_\d+_nowhere: .*does not exist/],
    [
      'a wrong password',
      (url) => url.replace(':postgres@', ':hunter2@'),
      /Cannot open the database 127\.0\.0\.1:\d+\/test_\d+: .*password/,
    ],
    [
      'a replica, which refuses migrations',
      (url) => `${url}?options=-c%20timezone%3DUTC%20-c%20default_transaction_read_only%3Don`,
      /DatabaseOpenError: Cannot open the database .*read-only/,
    ],
    [
      'a user who may not create tables',
      (url) => `${url}?options=-c%20timezone%3DUTC%20-c%20role%3Dpg_monitor`,
      /DatabaseOpenError: Cannot open the database .*permission denied/,
    ],
  ])('fails to open with %s, without showing the password', async (_what, change, message) => {
    const url = new Secret(change((await server.newEmptyDatabase()).reveal()))
    const error: unknown = await openDatabase({ kind: 'postgres', url }).catch((thrown: unknown) => thrown)
    expect(String(error)).toMatch(message)
    expect(String(error)).not.toContain('hunter2')
  })
})
