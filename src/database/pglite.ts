import { existsSync } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { ParserOptions } from '@electric-sql/pglite'
import type { SqlDriverAdapterFactory, Transaction } from '@prisma/driver-adapter-utils'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import { PrismaClient } from '../../generated/prisma/client.ts'
import type { Logger } from '../log.ts'
import { makePrivateDirectory } from '../private-files.ts'
import { copyData, dataOf } from './backup.ts'
import { DatabaseOpenError, makePing, once } from './client.ts'
import type { Database, Listening, OnNotice } from './client.ts'
import { readEmptyDatabase, writeEmptyDatabase } from './empty-database.ts'
import { lockDirectory } from './lock.ts'
import { migrate, readMigrations } from './migrations.ts'
import type { MigrationConnection } from './migrations.ts'

/** Opens Postgres inside this process (PGlite), with its data in a directory that no other process uses meanwhile. */
export async function openEmbedded(path: string, log: Logger | null): Promise<Database> {
  const directory = resolve(path)
  await prepareDirectory(directory, log)
  const unlock = lockDirectory(directory)
  try {
    const pglite = await openDataDirectory(dataOf(directory))
    return { ...(await openPGlite(pglite, unlock)), copyFiles: () => copyAside(pglite, directory) }
  } catch (error) {
    unlock()
    throw error
  }
}

const COPY_PREFIX = 'backup-'

/**
 * Copies the database beside itself, because the service may be allowed to write nowhere else. No statement runs
 * meanwhile, so the copy is what a crash at this moment would leave. Removes earlier copies that were not moved away.
 */
async function copyAside(pglite: PGlite, directory: string): Promise<string> {
  const left = (await readdir(directory)).filter((name) => name.startsWith(COPY_PREFIX))
  for (const name of left) await rm(join(directory, name), { recursive: true, force: true })
  const copy = join(directory, `${COPY_PREFIX}${process.pid}`)
  await pglite.transaction(() => copyData(dataOf(directory), copy))
  return copy
}

/** The database contains the keys that sign tokens, so no other user may read its directory. */
async function prepareDirectory(directory: string, log: Logger | null): Promise<void> {
  try {
    if (await makePrivateDirectory(directory)) log?.warn({ path: directory }, 'files.made_private')
  } catch (error) {
    throw cannot(`prepare the database directory ${directory}`, error)
  }
}

/**
 * Opens the data directory, and creates it when there is none. A file beside it exists while it is being created. When
 * the process is killed meanwhile, the next start finds that file and creates the directory again.
 */
async function openDataDirectory(data: string): Promise<PGlite> {
  const unfinished = `${data}.unfinished`
  try {
    if (existsSync(unfinished)) await rm(data, { recursive: true, force: true })
    if (!existsSync(data)) {
      await writeFile(unfinished, '')
      writeEmptyDatabase(data)
      await rm(unfinished)
    }
    return await PGlite.create(data)
  } catch (error) {
    throw cannot(`open the embedded database in ${data}`, error)
  }
}

/** Opens an empty database in memory. */
export async function openMemory(): Promise<PGlite> {
  return PGlite.create({ loadDataDir: new Blob([readEmptyDatabase()]) })
}

function cannot(what: string, cause: unknown): DatabaseOpenError {
  return new DatabaseOpenError(`Cannot ${what}: ${String(cause)}. Check SVC_DATABASE_URL.`, { cause })
}

/** Migrates an open PGlite and connects Prisma to it. Closing the database closes the PGlite, then calls `onClosed`. */
export async function openPGlite(pglite: PGlite, onClosed: () => void = () => undefined): Promise<Database> {
  try {
    await migrate(toMigrationConnection(pglite), await readMigrations())
  } catch (error) {
    await pglite.close()
    throw error
  }
  const prisma = new PrismaClient({
    adapter: pgliteAdapter(pglite),
    errorFormat: 'minimal',
    // All requests share one connection, so waiting for it does not mean that the database is in trouble.
    transactionOptions: { maxWait: 10_000, timeout: 10_000 },
  })
  const listenings: Listening[] = []
  return {
    prisma,
    ping: makePing(() => pglite.query('SELECT 1')),
    listen(channel, onNotice) {
      const listening = listenOnPGlite(pglite, channel, onNotice)
      listenings.push(listening)
      return listening
    },
    copyFiles: null,
    close: once(async () => {
      for (const listening of listenings) listening.close()
      await prisma.$disconnect()
      await pglite.close()
      onClosed()
    }),
  }
}

function listenOnPGlite(pglite: PGlite, channel: string, onNotice: OnNotice): Listening {
  let isClosed = false
  const started = pglite.listen(channel, (payload) => {
    if (!isClosed) onNotice(payload)
  })
  // When the database is closed meanwhile, there is nothing to listen to.
  started.catch(() => undefined)
  return {
    isConnected: () => !isClosed,
    close() {
      isClosed = true
      void started.then((stop) => stop()).catch(() => undefined)
    },
  }
}

function toMigrationConnection(pglite: PGlite): MigrationConnection {
  return {
    query: async (sql, parameters = []) => (await pglite.query<Record<string, unknown>>(sql, [...parameters])).rows,
    script: async (sql) => void (await pglite.exec(sql)),
  }
}

/** The package's Prisma adapter for PGlite, with transactions that report a failed COMMIT. */
function pgliteAdapter(pglite: PGlite): SqlDriverAdapterFactory {
  const shared = withSharedParsers(pglite)
  const factory = new PrismaPGlite(shared)
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    async connect() {
      const adapter = await factory.connect()
      return Object.assign(adapter, { startTransaction: () => startTransaction(shared) })
    },
  }
}

type Queryable = Pick<PGlite, 'query'>

/**
 * Registers the adapter's parsers with PGlite once. The adapter passes them with each query, and PGlite then copies its
 * 300 parsers, which takes as long as the query itself.
 */
function withSharedParsers(pglite: PGlite): PGlite {
  let registered: ParserOptions | undefined
  const makeQuery =
    (queryable: Queryable): PGlite['query'] =>
    (sql, values, { parsers, ...options } = {}) => {
      if (parsers && parsers !== registered) {
        Object.assign(pglite.parsers, parsers)
        registered = parsers
      }
      return queryable.query(sql, values, options)
    }
  const used: Pick<PGlite, 'query' | 'exec' | 'transaction'> = {
    query: makeQuery(pglite),
    exec: (sql, options) => pglite.exec(sql, options),
    transaction: (run) => pglite.transaction((transaction) => run({ ...transaction, query: makeQuery(transaction) })),
  }
  // The adapter uses no other member.
  return used as PGlite
}

/**
 * Starts a transaction whose `commit` rejects when the COMMIT failed. The adapter's own `commit` ignores that error and
 * reports a transaction as done that was rolled back. PGlite runs transactions one after the other, so isolation levels
 * are not needed.
 */
async function startTransaction(pglite: PGlite): Promise<Transaction> {
  let outcome: Promise<unknown> = Promise.resolve()
  const recording: Pick<PGlite, 'transaction'> = { transaction: (run) => (outcome = pglite.transaction(run)) }
  // The adapter starts a transaction with this method only.
  const adapter = await new PrismaPGlite(recording as PGlite).connect()
  const transaction = await adapter.startTransaction()
  const commit = transaction.commit.bind(transaction)
  return Object.assign(transaction, { commit: () => commit().then(() => outcome.then(() => undefined)) })
}
