import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../src/database/client.ts'
import { readDirectoryFile } from '../../src/directory/rules.ts'
import { directoryStore } from '../../src/directory/store.ts'
import { isDatabaseUnavailable, withRetry } from '../../src/database/errors.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { readMigrations } from '../../src/database/migrations.ts'
import { openDatabase } from '../../src/database/open.ts'
import { freshDatabase } from '../support/database.ts'
import { startPostgres } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'

const folders: string[] = []

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-database-'))
  folders.push(folder)
  return folder
}

/** Where one that is being made is, beside its place. */
const unfinishedOf = (directory: string) => join(directory, 'data.new')

/** A database whose first start was killed in the middle, and that a second one made and closed; making one takes seconds. */
let made: ReturnType<typeof makeDatabase> | undefined
const madeDatabase = () => (made ??= makeDatabase())

async function makeDatabase() {
  const directory = join(newFolder(), 'a', 'b')
  const first = startOwner(directory)
  while (!existsSync(unfinishedOf(directory))) await sleep(2)
  await first.kill()
  const left = { unfinished: existsSync(unfinishedOf(directory)), said: first.said }
  const database = await openDatabase({ kind: 'embedded', directory })
  const rows = await database.prisma.organization.count()
  await database.close()
  return { directory, left, rows }
}

async function newDatabaseFolder(): Promise<string> {
  const copy = newFolder()
  cpSync((await madeDatabase()).directory, copy, { recursive: true })
  return copy
}

afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))

/** Another process that opens the embedded database; `said` has its lines. */
function startOwner(directory: string, mode = 'hold') {
  const script = fileURLToPath(new URL('../support/database-owner.ts', import.meta.url))
  const child = spawn(process.execPath, [script, directory, mode], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  const said: string[] = []
  lines.on('line', (line) => said.push(line))
  const exited = once(lines, 'close')
  return {
    pid: child.pid,
    said,
    /** Resolves once it has said so many lines, or has ended. */
    async untilSaid(count: number) {
      while (said.length < count) if ((await Promise.race([once(lines, 'line'), exited])).length === 0) return
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async end() {
      child.stdin.end()
      await exited
    },
  }
}

describe('the embedded database', () => {
  it('is made where it is missing, parents too, for nobody else to read', async () => {
    const { directory } = await madeDatabase()
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(statSync(dirname(directory)).mode & 0o777).toBe(0o700)
  })

  it('refuses a second process, naming the directory and the owner, until the owner ends', async () => {
    const directory = await newDatabaseFolder()
    const owner = startOwner(directory)
    await owner.untilSaid(1)
    expect(owner.said).toEqual(['open'])

    const second = openDatabase({ kind: 'embedded', directory })
    await expect(second).rejects.toThrow(`${directory} is in use by process ${owner.pid}`)

    await owner.end()
    await (await openDatabase({ kind: 'embedded', directory })).close()
  })

  it('refuses this process a second time, and lets it in again after closing', async () => {
    const config = { kind: 'embedded', directory: await newDatabaseFolder() } as const
    const database = await openDatabase(config)
    await expect(openDatabase(config)).rejects.toThrow(`process ${process.pid}`)
    await database.close()
    await database.close()
    await (await openDatabase(config)).close()
  })

  it('lets exactly one of many in that start at once', async () => {
    const directory = await newDatabaseFolder()
    const starters = [1, 2, 3, 4].map(() => startOwner(directory))
    await Promise.all(starters.map((starter) => starter.untilSaid(1)))

    expect(starters.filter(({ said }) => said[0] === 'open')).toHaveLength(1)
    expect(starters.filter(({ said }) => said[0]?.startsWith('refused: The database directory'))).toHaveLength(3)
    await Promise.all(starters.map((starter) => starter.kill()))
  })

  it('has every acknowledged row after kill -9, and opens at once', async () => {
    const directory = await newDatabaseFolder()
    for (let round = 0; round < 2; round++) {
      const writer = startOwner(directory, 'write')
      await writer.untilSaid(20 + round * 7)
      await writer.kill()
      const acknowledged = writer.said.filter((line) => line.startsWith('row-'))
      expect(acknowledged.length).toBeGreaterThan(10)

      const database = await openDatabase({ kind: 'embedded', directory })
      const kept = new Set((await database.prisma.organization.findMany()).map(({ name }) => name))
      expect(acknowledged.filter((name) => !kept.has(name))).toEqual([])
      await database.prisma.organization.deleteMany()
      await database.close()
    }
  })

  it('starts over when the first start was killed in the middle', async () => {
    const { directory, left, rows } = await madeDatabase()
    expect(left).toEqual({ unfinished: true, said: [] })
    expect(existsSync(unfinishedOf(directory))).toBe(false)
    expect(rows).toBe(0)
  })

  it('says which directory it cannot use', async () => {
    await expect(openDatabase({ kind: 'embedded', directory: '/dev/null/db' })).rejects.toThrow('/dev/null/db')
  })
})

describe('a database in memory', () => {
  it('reports a COMMIT that fails, instead of calling the transaction done', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    await prisma.$executeRaw`CREATE TABLE orphan (organization uuid REFERENCES organizations DEFERRABLE INITIALLY DEFERRED)`
    try {
      const insert = prisma.$transaction((tx) => tx.$executeRaw`INSERT INTO orphan VALUES (gen_random_uuid())`)
      await expect(insert).rejects.toThrow('violates foreign key constraint')
      expect(await prisma.$queryRaw`SELECT 1 FROM orphan`).toEqual([])
    } finally {
      await prisma.$executeRaw`DROP TABLE orphan`
    }
  })

  it('undoes a transaction that throws, and the next one works', async () => {
    await using database = await freshDatabase()
    const { prisma } = database
    const failed = prisma.$transaction(async (tx) => {
      await tx.organization.create({ data: { name: 'acme' } })
      throw new Error('changed my mind')
    })
    await expect(failed).rejects.toThrow('changed my mind')
    await prisma.$transaction((tx) => tx.organization.create({ data: { name: 'globex' } }))
    expect((await prisma.organization.findMany()).map(({ name }) => name)).toEqual(['globex'])
  })

  it('is unavailable once it is closed', async () => {
    const { prisma, ping, close } = await freshDatabase()
    await close()
    expect(await ping()).toBe(false)
    expect(isDatabaseUnavailable(await prisma.organization.count().catch((error: unknown) => error))).toBe(true)
  })
})

it.each([
  [new Error('changed my mind')],
  [new TypeError('fetch failed')],
  [Object.assign(new Error('Unique constraint failed'), { code: 'P2002' })],
  [Object.assign(new Error('no row'), { code: 'P2025' })],
  [null],
  [undefined],
  ['ECONNREFUSED'],
])('%s is not the database being away', (error) => {
  expect(isDatabaseUnavailable(error)).toBe(false)
})

describe('a Postgres server', () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.stop())

  async function open(): Promise<Database> {
    return openDatabase({ kind: 'postgres', url: await server.newDatabase() })
  }

  /** What requests do: read, write, several statements in a transaction. */
  const kinds: Record<string, (database: Database) => Promise<unknown>> = {
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
    const began = performance.now()
    for (const outcome of await Promise.allSettled(Object.values(kinds).map((ask) => ask(database)))) {
      expect(outcome.status).toBe('rejected')
      if (outcome.status === 'rejected')
        expect({ unavailable: isDatabaseUnavailable(outcome.reason), error: outcome.reason }).toMatchObject({
          unavailable: true,
        })
    }
    expect(performance.now() - began).toBeLessThan(3000)
  }

  async function expectAvailable(database: Database) {
    await Promise.all(Object.values(kinds).map((ask) => ask(database)))
    expect(await database.ping()).toBe(true)
  }

  async function expectPing(database: Database, answer: boolean) {
    const began = performance.now()
    expect(await database.ping()).toBe(answer)
    expect(performance.now() - began).toBeLessThan(2000)
  }

  it('is migrated once by ten that start at once', async () => {
    const url = await server.newDatabase()
    const opened = await Promise.all(Array.from({ length: 10 }, () => openDatabase({ kind: 'postgres', url })))
    const one = await openDatabase({ kind: 'postgres', url })
    const rows = await one.prisma.$queryRaw<{ name: string }[]>`
      SELECT migration_name AS name FROM _prisma_migrations ORDER BY started_at`
    expect(rows).toEqual((await readMigrations()).map(({ name }) => ({ name })))
    await Promise.all([one, ...opened].map(({ close }) => close()))
  })

  it('gets the directory from ten that start at once, as from one', async () => {
    const url = await server.newDatabase()
    const opened = await Promise.all(Array.from({ length: 10 }, () => openDatabase({ kind: 'postgres', url })))
    const read = readDirectoryFile(
      'organizations: [{ name: acme, teams: [{ name: core, members: [{ email: ada@example.com }] }] }]',
    )
    if ('mistakes' in read) throw new Error(read.mistakes.join())

    await Promise.all(opened.map(({ prisma }) => directoryStore(prisma).applyDirectory(read.directory, new Date())))
    const [database] = opened
    expect(await database?.prisma.auditEvent.findMany({ select: { kind: true }, orderBy: { id: 'asc' } })).toEqual([
      { kind: 'team.created' },
      { kind: 'invitation.created' },
    ])
    await Promise.all(opened.map(({ close }) => close()))
  })

  it('keeps times whatever its own time zone is', async () => {
    const url = await server.newDatabase()
    const before = await openDatabase({ kind: 'postgres', url })
    await before.prisma.$executeRawUnsafe(
      `ALTER DATABASE ${new URL(url.reveal()).pathname.slice(1)} SET timezone = 'America/New_York'`,
    )
    await before.close()
    // Connections that are opened from now on would have that time zone.
    const database = await openDatabase({ kind: 'postgres', url })
    const at = new Date('2026-07-01T12:34:56.789Z')
    await database.prisma.auditEvent.create({ data: { kind: 'test', at } })
    expect((await database.prisma.auditEvent.findFirstOrThrow()).at).toEqual(at)
    const raw = await database.prisma.$queryRaw`SELECT extract(epoch FROM at)::float8 AS seconds FROM audit_events`
    expect(raw).toEqual([{ seconds: at.getTime() / 1000 }])
    await database.close()
  })

  /** Makes the first two who come wait for each other, so that their transactions overlap. */
  function meetingPoint() {
    const together = Promise.withResolvers<true>()
    const meeting = { visits: 0, meet: () => (++meeting.visits === 2 && together.resolve(true), together.promise) }
    return meeting
  }

  it('is asked again after a serialization failure', async () => {
    const database = await open()
    const { prisma } = database
    const meeting = meetingPoint()
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

  it('is asked again after a deadlock', async () => {
    const database = await open()
    const { prisma } = database
    await prisma.model.createMany({
      data: ['a', 'b'].map((id) => ({ id, displayName: '', owner: 'nobody', createdAt: new Date() })),
    })
    const meeting = meetingPoint()
    const claim = (owner: string, [first, second]: [string, string]) =>
      withRetry(() =>
        prisma.$transaction(async (tx) => {
          await tx.model.update({ where: { id: first }, data: { owner } })
          await meeting.meet()
          await tx.model.update({ where: { id: second }, data: { owner } })
        }),
      )
    await Promise.all([claim('ada', ['a', 'b']), claim('bob', ['b', 'a'])])
    expect(meeting.visits).toBeGreaterThan(2)
    const owners = (await prisma.model.findMany()).map(({ owner }) => owner)
    expect(new Set(owners).size).toBe(1)
    await database.close()
  })

  it('that refuses too often is told apart from a mistake', async () => {
    const conflict = Object.assign(new Error('write conflict'), { code: 'P2034' })
    let attempts = 0
    const error = await withRetry(() => (attempts++, Promise.reject(conflict))).catch((thrown: unknown) => thrown)
    expect(attempts).toBe(8)
    expect(error).toBe(conflict)
    expect(isDatabaseUnavailable(error)).toBe(true)
  })

  it('that hangs in the middle of a transaction leaves nothing of it behind', async () => {
    const database = await open()
    const began = performance.now()
    const error: unknown = await database.prisma
      .$transaction(async (tx) => {
        await tx.organization.create({ data: { name: 'half' } })
        await server.freeze()
        await tx.organization.create({ data: { name: 'done' } })
      })
      .catch((thrown: unknown) => thrown)
    expect(performance.now() - began).toBeLessThan(3000)
    await expectPing(database, false)
    server.thaw()

    expect(isDatabaseUnavailable(error)).toBe(true)
    await expect.poll(() => database.prisma.organization.findMany().catch(() => null)).toEqual([])
    await database.close()
  })

  it('that breaks the connection of a transaction is unavailable', async () => {
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

  // Both wait, and each has a database of its own.
  it.concurrent('with every connection taken makes nobody wait longer than 3 s', async () => {
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

  it.concurrent('that is slow is cut off, and the connection stays of use', async () => {
    const database = await open()
    const slow: unknown = await database.prisma.$queryRaw`SELECT pg_sleep(5)`.catch((thrown: unknown) => thrown)
    expect(isDatabaseUnavailable(slow)).toBe(true)
    await expectAvailable(database)
    await database.close()
  })

  it('is unavailable once the service has closed it', async () => {
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
  ])('is refused at the start with %s, without showing the password', async (_what, change, message) => {
    const url = new Secret(change((await server.newDatabase()).reveal()))
    const error: unknown = await openDatabase({ kind: 'postgres', url }).catch((thrown: unknown) => thrown)
    expect(String(error)).toMatch(message)
    expect(String(error)).not.toContain('hunter2')
  })
})
