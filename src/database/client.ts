import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import type { ParserOptions } from '@electric-sql/pglite'
import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlDriverAdapterFactory, Transaction } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import { PrismaClient } from '../../generated/prisma/client.ts'
import type { DatabaseConfig } from '../config.ts'
import { lockDirectory } from './lock.ts'
import { CONNECT_TIMEOUT_MS, openPool } from './pool.ts'
import { isDatabaseUnavailable } from './errors.ts'
import type { Secret } from '../kernel/secret.ts'
import { migrate, readMigrations } from './migrations.ts'
import type { MigrationConnection } from './migrations.ts'

export { isDatabaseUnavailable } from './errors.ts'

export type Database = {
  readonly prisma: PrismaClient
  /** Whether the database answers; says so within 2 s, and false is not an error. */
  ping(): Promise<boolean>
  /** Waits for what is under way and ends; later queries fail. May be called again. */
  close(): Promise<void>
}

/** The database cannot be opened; the message says which one and why, without its password. */
export class DatabaseOpenError extends Error {
  override readonly name = 'DatabaseOpenError'
}

/**
 * Opens the database and brings its schema up to this version. Rejects, with everything closed again, with a
 * `DatabaseOpenError`, a `DirectoryInUseError` or a `MigrationError`; a Postgres server that is still starting is given
 * ten seconds.
 */
export async function openDatabase(config: DatabaseConfig): Promise<Database> {
  switch (config.kind) {
    case 'embedded':
      return openEmbedded(resolve(config.directory))
    case 'memory':
      return openPGlite(await PGlite.create())
    case 'postgres':
      return openPostgres(config.url)
  }
}

// ---- Embedded: Postgres in this process, in a directory that nobody else uses --------------------------------------

async function openEmbedded(directory: string): Promise<Database> {
  const unlock = await ownDirectory(directory)
  try {
    return await openPGlite(await openDataDirectory(join(directory, 'data')), unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

async function ownDirectory(directory: string): Promise<() => void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new DatabaseOpenError(`cannot make the database directory ${directory}: ${String(error)}`, { cause: error })
  }
  return lockDirectory(directory)
}

/** A new database is made beside its place and moved there whole, so that one cut off in the making is never opened. */
async function openDataDirectory(data: string): Promise<PGlite> {
  try {
    if (!existsSync(data)) {
      const unfinished = `${data}.new`
      await rm(unfinished, { recursive: true, force: true })
      await (await PGlite.create(unfinished)).close()
      await rename(unfinished, data)
    }
    return await PGlite.create(data)
  } catch (error) {
    throw new DatabaseOpenError(`cannot open the embedded database in ${data}: ${String(error)}`, { cause: error })
  }
}

/** A PGlite that is open, migrated and behind Prisma; closing the database closes it, then calls `onClosed`. */
export async function openPGlite(pglite: PGlite, onClosed: () => void = () => undefined): Promise<Database> {
  try {
    await migrate(overPGlite(pglite), await readMigrations())
  } catch (error) {
    await pglite.close()
    throw error
  }
  // One connection serves everybody in turn, so waiting for it is no sign of trouble.
  const prisma = new PrismaClient({
    adapter: pgliteAdapter(pglite),
    errorFormat: 'minimal',
    transactionOptions: { maxWait: 10_000, timeout: 10_000 },
  })
  return {
    prisma,
    ping: pingWith(() => pglite.query('SELECT 1')),
    close: once(async () => {
      await prisma.$disconnect()
      await pglite.close()
      onClosed()
    }),
  }
}

function overPGlite(pglite: PGlite): MigrationConnection {
  return {
    query: async (sql, parameters = []) => (await pglite.query<Record<string, unknown>>(sql, [...parameters])).rows,
    script: async (sql) => void (await pglite.exec(sql)),
  }
}

/** PGlite behind Prisma, by the package's adapter, but with transactions of our own. */
function pgliteAdapter(pglite: PGlite): SqlDriverAdapterFactory {
  const spared = withParsersOnce(pglite)
  const factory = new PrismaPGlite(spared)
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    async connect() {
      const adapter = await factory.connect()
      return Object.assign(adapter, { startTransaction: () => startTransaction(spared) })
    },
  }
}

type Queryable = Pick<PGlite, 'query'>

/**
 * The package's adapter hands its parsers along with each query, and PGlite then makes a copy of all that it has, some 300, which takes as
 * long as the query itself. Here they become PGlite's own.
 */
function withParsersOnce(pglite: PGlite): PGlite {
  let adopted: ParserOptions | undefined
  const query =
    (queryable: Queryable): PGlite['query'] =>
    (sql, values, { parsers, ...options } = {}) => {
      if (parsers && parsers !== adopted) {
        Object.assign(pglite.parsers, parsers)
        adopted = parsers
      }
      return queryable.query(sql, values, options)
    }
  const lent: Pick<PGlite, 'query' | 'exec' | 'transaction'> = {
    query: query(pglite),
    exec: (sql, options) => pglite.exec(sql, options),
    transaction: (run) => pglite.transaction((transaction) => run({ ...transaction, query: query(transaction) })),
  }
  // What is left out, the adapter does not ask for.
  return lent as PGlite
}

/**
 * The package's adapter drops the error of a COMMIT that failed, and so calls a transaction done that was undone; here that
 * error reaches the caller. Isolation levels need no asking for: transactions run one after the other.
 */
async function startTransaction(pglite: PGlite): Promise<Transaction> {
  let outcome: Promise<unknown> = Promise.resolve()
  const watched: Pick<PGlite, 'transaction'> = { transaction: (run) => (outcome = pglite.transaction(run)) }
  // The adapter starts a transaction by this one method.
  const adapter = await new PrismaPGlite(watched as PGlite).connect()
  const transaction = await adapter.startTransaction()
  const commit = transaction.commit.bind(transaction)
  return Object.assign(transaction, { commit: () => commit().then(() => outcome.then(() => undefined)) })
}

// ---- Postgres: a server, whose silence must never become ours ------------------------------------------------------

async function openPostgres(url: Secret): Promise<Database> {
  await migratePostgres(url)
  const pool = openPool(connectionOptions(url))
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool),
    errorFormat: 'minimal',
    transactionOptions: { maxWait: CONNECT_TIMEOUT_MS + 200, timeout: 5000 },
  })
  return {
    prisma,
    ping: pingWith(() => pool.query('SELECT 1')),
    close: once(async () => {
      await prisma.$disconnect()
      await pool.end()
    }),
  }
}

function connectionOptions(url: Secret): pg.ClientConfig {
  return {
    connectionString: url.reveal(),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'svc',
    // The driver adapter sends and reads times without their zone.
    options: '-c timezone=UTC',
  }
}

/** Over a connection of its own, without the short timeouts: a migration may take its time. */
async function migratePostgres(url: Secret): Promise<void> {
  const client = await connectPatiently(url)
  client.on('error', () => undefined)
  const connection: MigrationConnection = {
    query: async (sql, parameters = []) => (await client.query<Record<string, unknown>>(sql, [...parameters])).rows,
    script: async (sql) => void (await client.query(sql)),
  }
  try {
    await migrate(connection, await readMigrations())
  } finally {
    await client.end()
  }
}

const CONNECT_TRIES = 10

async function connectPatiently(url: Secret): Promise<pg.Client> {
  for (let tries = 1; ; tries++) {
    const client = new pg.Client(connectionOptions(url))
    try {
      await client.connect()
      return client
    } catch (error) {
      await client.end().catch(() => undefined)
      if (tries === CONNECT_TRIES || !mayComeUp(error)) throw notOpened(url, error)
    }
    await sleep(1000)
  }
}

/** A wrong password or name stays wrong; a server that is not there yet may come. */
function mayComeUp(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return isDatabaseUnavailable(error) && !/^(28|3D)/.test(code)
}

function notOpened(url: Secret, error: unknown): DatabaseOpenError {
  const { host, pathname } = new URL(url.reveal())
  const reason = error instanceof AggregateError ? error.errors.map(String).join(', ') : String(error)
  return new DatabaseOpenError(`cannot open the database ${host}${pathname}: ${reason}`, { cause: error })
}

// ---- Both ----------------------------------------------------------------------------------------------------------

const PING_MS = 1500

/** One question at a time, however many ask: a database that hangs must not collect them. */
function pingWith(ask: () => Promise<unknown>): () => Promise<boolean> {
  let asking: Promise<boolean> | null = null
  return () => {
    asking ??= ask()
      .then(() => true)
      .catch(() => false)
      .finally(() => (asking = null))
    return Promise.race([asking, sleep(PING_MS, false, { ref: false })])
  }
}

function once(run: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null
  return () => (done ??= run())
}
