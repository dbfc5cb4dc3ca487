import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { constants, getPriority, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { setImmediate } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DatabaseCrashError } from '../../src/database/client.ts'
import type { Database } from '../../src/database/client.ts'
import { isDatabaseUnavailable } from '../../src/database/errors.ts'
import { openDatabase } from '../../src/database/open.ts'
import { sql } from '../../src/database/sql.ts'
import { DATA_HOME } from '../support/data-folder.ts'
import { freshDatabase } from '../support/database.ts'
import { waitForValue, waitUntil, withDeadline } from '../support/wait.ts'

const folders: string[] = []

function newFolder(home = DATA_HOME): string {
  const folder = mkdtempSync(join(home, 'svc-database-'))
  folders.push(folder)
  return folder
}

/** The file that exists while a new database is being created. */
const unfinishedOf = (directory: string) => join(directory, 'data.unfinished')

/**
 * A database whose first start was killed while it was created, and that a second start made and closed. Made once: it
 * takes seconds.
 */
let made: ReturnType<typeof makeDatabase> | undefined
const madeDatabase = () => (made ??= makeDatabase())

async function makeDatabase() {
  const { directory, left } = await killWhileCreating()
  const database = await openDatabase({ kind: 'embedded', directory })
  const rows = await database.prisma.organization.count()
  await database.close()
  return { directory, left, rows }
}

/** A database is created in a tenth of a second, so on a busy machine a kill may come too late. */
const MAX_KILLS = 10

/** Kills a process while it creates a database. `left`: what it left behind. */
async function killWhileCreating() {
  for (let kills = 1; ; kills++) {
    // On a disk, because it is created there more slowly.
    const directory = join(newFolder(tmpdir()), 'a', 'b')
    const first = startOwner(directory)
    const hasFiles = () => existsSync(join(directory, 'data', 'base'))
    await waitForValue('the first files of the database', hasFiles, true, { intervalMs: 2, timeoutMs: 60_000 })
    await first.kill()
    const left = { unfinished: existsSync(unfinishedOf(directory)), printed: first.printed }
    if (left.unfinished || kills === MAX_KILLS) return { directory, left }
  }
}

/** A copy of the made database. */
async function newDatabaseFolder(): Promise<string> {
  const copy = newFolder()
  cpSync((await madeDatabase()).directory, copy, { recursive: true })
  return copy
}

afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))

/** Starts another process that opens the embedded database; `printed` has its lines. */
function startOwner(directory: string, mode = 'hold') {
  const script = fileURLToPath(new URL('../support/database-owner.ts', import.meta.url))
  const child = spawn(process.execPath, [script, directory, mode], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  const printed: string[] = []
  let hasEnded = false
  lines.on('line', (line) => printed.push(line))
  const ended = once(lines, 'close').then(() => (hasEnded = true))
  return {
    pid: child.pid,
    printed,
    /** Resolves once it has printed `count` lines, or has ended. */
    async untilPrinted(count: number) {
      const isReached = (seen: readonly string[]) => seen.length >= count || hasEnded
      await waitUntil(`${count} lines of another process`, () => printed, isReached, { timeoutMs: 90_000 })
    },
    async kill() {
      child.kill('SIGKILL')
      await withDeadline('another process to end', ended)
    },
    async end() {
      child.stdin.end()
      await withDeadline('another process to end', ended)
    },
  }
}

// Making a database starts several processes and takes minutes on a machine with much other work.
describe('the embedded database', { timeout: 180_000 }, () => {
  it('is created where it is missing, with its parent folders, readable only by its owner', async () => {
    const { directory } = await madeDatabase()
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(statSync(dirname(directory)).mode & 0o777).toBe(0o700)
  })

  it('names the directory when it cannot be locked, for example because its disk is full', async () => {
    const directory = newFolder()
    // The file that names the owner cannot be written.
    mkdirSync(join(directory, 'owner.pid'))
    await expect(openDatabase({ kind: 'embedded', directory })).rejects.toThrow(`${directory} cannot be locked`)
  })

  it('opens for exactly one of several processes that start at once', async () => {
    const directory = await newDatabaseFolder()
    const starters = [1, 2, 3].map(() => startOwner(directory))
    await Promise.all(starters.map((starter) => starter.untilPrinted(1)))

    expect(starters.filter(({ printed }) => printed[0] === 'open')).toHaveLength(1)
    expect(starters.filter(({ printed }) => printed[0]?.startsWith('refused: The database directory'))).toHaveLength(2)
    await Promise.all(starters.map((starter) => starter.kill()))
  })

  it('has all acknowledged rows after kill -9, and opens at once', async () => {
    const directory = await newDatabaseFolder()
    const writer = startOwner(directory, 'write')
    await writer.untilPrinted(20)
    await writer.kill()
    const acknowledged = writer.printed.filter((line) => line.startsWith('row-'))
    expect(acknowledged.length).toBeGreaterThan(10)

    const database = await openDatabase({ kind: 'embedded', directory })
    const kept = new Set((await database.prisma.organization.findMany()).map(({ name }) => name))
    expect(acknowledged.filter((name) => !kept.has(name))).toEqual([])
    await database.close()
  })

  it('is created again when the first start was killed while it was created', async () => {
    const { directory, left, rows } = await madeDatabase()
    expect(left).toEqual({ unfinished: true, printed: [] })
    expect(existsSync(unfinishedOf(directory))).toBe(false)
    expect(rows).toBe(0)
  })

  it('has crashed when its write-ahead log cannot grow, and has all acknowledged rows once it can', async () => {
    const directory = await newDatabaseFolder()
    // Postgres makes the next file of the log under this name.
    const next = join(directory, 'data', 'pg_wal', 'xlogtemp.42')
    mkdirSync(next)
    const full = await openDatabase({ kind: 'embedded', directory })
    await full.prisma.organization.create({ data: { name: 'acme' } })
    const write = () => full.execute(sql`SELECT pg_logical_emit_message(false, 'log', repeat('x', 1000000))`)
    const written = await Promise.allSettled(Array.from({ length: 20 }, write))
    expect(written.at(-1)?.status).toBe('rejected')
    expect(String((await full.crashed).cause)).toContain('xlogtemp.42')
    await full.close()

    rmSync(next, { recursive: true })
    const database = await openDatabase({ kind: 'embedded', directory })
    expect(await database.prisma.organization.count()).toBe(1)
    await database.close()
  })

  it('is not created anew after a restore that was killed before it had a database', async () => {
    const directory = newFolder()
    mkdirSync(join(directory, 'data.restored'))
    await expect(openDatabase({ kind: 'embedded', directory })).rejects.toThrow(/A restore of .* was interrupted/)
    expect(existsSync(join(directory, 'data'))).toBe(false)
  })

  it('names a directory that it cannot use', async () => {
    await expect(openDatabase({ kind: 'embedded', directory: '/dev/null/db' })).rejects.toThrow('/dev/null/db')
  })
})

describe('a database that is open', { timeout: 180_000 }, () => {
  let config: { readonly kind: 'embedded'; readonly directory: string }
  let database: Database
  const events: string[] = []
  beforeAll(async () => {
    config = { kind: 'embedded', directory: await newDatabaseFolder() }
    chmodSync(config.directory, 0o755)
    const line = (_fields: object, event: string) => void events.push(event)
    database = await openDatabase(config, { debug: line, info: line, warn: line, error: line })
  }, 180_000)
  afterAll(() => database.close())

  it('has a directory that is closed to other users at each start', () => {
    expect(statSync(config.directory).mode & 0o777).toBe(0o700)
    expect(events).toEqual(['files.made_private'])
  })

  it('is copied beside itself, where only earlier copies are removed', async () => {
    const { directory } = config
    for (const name of ['backup-2026-11-22', 'data.copy-1']) mkdirSync(join(directory, name))
    const copy = (await database.copyFiles?.()) ?? ''
    expect(existsSync(join(copy, 'PG_VERSION'))).toBe(true)
    const folders = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(folders.map(({ name }) => name).toSorted()).toEqual(['backup-2026-11-22', 'data', basename(copy)])
  })

  it('is refused to another process and a second time to this one, naming the directory and the owner', async () => {
    const message = `${config.directory} is in use by process ${process.pid}`
    const second = startOwner(config.directory)
    await second.untilPrinted(1)
    expect(second.printed).toEqual([expect.stringContaining(message)])
    await expect(openDatabase(config)).rejects.toThrow(message)

    await database.close()
    await database.close()
    database = await openDatabase(config)
    expect(await database.ping()).toBe(true)
  })

  // Last, because it closes the database.
  it('serves nothing after it is closed', async () => {
    await database.close()
    expect(await database.ping()).toBe(false)
    const failed: unknown = await database.prisma.organization.count().catch((error: unknown) => error)
    expect(isDatabaseUnavailable(failed)).toBe(true)
  })
})

describe('the thread of a database', () => {
  let database: Database
  let thread: Worker
  beforeAll(async () => {
    const starting = once(process, 'worker') as Promise<[Worker]>
    database = await openDatabase({ kind: 'memory' })
    ;[thread] = await starting
  })
  afterAll(() => database.close())

  // Only Linux has priorities of threads.
  it.runIf(process.platform === 'linux')('has a lower priority than the threads that serve calls', () => {
    const threads = readdirSync('/proc/self/task').map(Number)
    const lower = threads.filter((thread) => getPriority(thread) === constants.priority.PRIORITY_BELOW_NORMAL)
    expect(lower).toHaveLength(1)
    expect(lower).not.toContain(process.pid)
  })

  it('reports a COMMIT that fails', async () => {
    const { prisma } = database
    await prisma.$executeRaw`CREATE TABLE orphan (organization uuid REFERENCES organizations DEFERRABLE INITIALLY DEFERRED)`
    const insert = prisma.$transaction((tx) => tx.$executeRaw`INSERT INTO orphan VALUES (gen_random_uuid())`)
    await expect(insert).rejects.toThrow('violates foreign key constraint')
    expect(await prisma.$queryRaw`SELECT 1 FROM orphan`).toEqual([])
  })

  it('rolls back a transaction that throws, and runs the next one', async () => {
    const { prisma } = database
    const failed = prisma.$transaction(async (tx) => {
      await tx.organization.create({ data: { name: 'acme' } })
      throw new Error('changed my mind')
    })
    await expect(failed).rejects.toThrow('changed my mind')
    await prisma.$transaction((tx) => tx.organization.create({ data: { name: 'globex' } }))
    expect((await prisma.organization.findMany()).map(({ name }) => name)).toEqual(['globex'])
  })

  it('reports errors as Prisma knows them', async () => {
    const { prisma } = database
    const create = () => prisma.organization.create({ data: { name: 'initech' } })
    await create()
    await expect(create()).rejects.toMatchObject({ code: 'P2002' })
    await expect(prisma.$queryRaw`SELECT 1 / 0`).rejects.toThrow('division by zero')
  })

  it('returns values of every type as the same database does in this thread', async () => {
    await using other = await freshDatabase()
    const read = ({ prisma }: Database) => prisma.$queryRaw`
      SELECT 1::int AS a, 9007199254740993::bigint AS b, 1.5::float8 AS c, 1.10::numeric AS d, true AS e, NULL::text AS f,
        'é✓'::text AS g, decode('00ff', 'hex') AS h, '2026-01-02T03:04:05.678Z'::timestamptz AS i, '2026-01-02'::date AS j,
        '{"k": [1]}'::jsonb AS k, ARRAY['x', 'y'] AS l, ${new Date(0)}::timestamptz AS m, ${Buffer.from('é')}::bytea AS n`
    expect(await read(database)).toEqual(await read(other))
  })

  it('leaves this thread free while a statement runs', async () => {
    const countRounds = async () => {
      const statement = database.prisma.$queryRaw`SELECT pg_sleep(0.1)::text`.then(() => 'done')
      let rounds = 0
      while ((await Promise.race([statement, setImmediate('not yet')])) === 'not yet') rounds += 1
      return rounds
    }
    // On a busy machine, this thread may get no CPU time during one statement.
    await waitUntil('a statement with many rounds of the event loop', countRounds, (rounds) => rounds > 10)
  })

  it('delivers notifications until listening ends', async () => {
    const heard: (string | null)[] = []
    const listening = database.listen('news', (payload) => heard.push(payload))
    await database.prisma.$executeRaw`SELECT pg_notify('news', 'first')`
    await waitForValue('a notification', () => heard.length, 1)
    listening.close()
    await database.prisma.$executeRaw`SELECT pg_notify('news', 'second')`
    await database.ping()
    expect(heard).toEqual(['first'])
  })

  // Last, because it ends the thread.
  it('is unavailable after a crash, which is reported', async () => {
    const statement = database.prisma.$queryRaw`SELECT pg_sleep(10)::text`.catch((error: unknown) => error)
    await thread.terminate()
    expect(await database.crashed).toBeInstanceOf(DatabaseCrashError)
    expect(isDatabaseUnavailable(await statement)).toBe(true)
    expect(await database.ping()).toBe(false)
  })
})
