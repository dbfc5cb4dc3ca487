import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { PGlite } from '@electric-sql/pglite'
import type { ParserOptions } from '@electric-sql/pglite'
import type { SqlDriverAdapterFactory, Transaction } from '@prisma/driver-adapter-utils'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import { DatabaseOpenError } from '../client.ts'
import type { MigrationConnection } from '../migrations.ts'
import { restoredOf, unfinishedOf } from './backup.ts'
import { readEmptyDatabase, writeEmptyDatabase } from './empty-database.ts'
import { openLeanPGlite } from './lean-pglite.ts'
import { makePreparedStatements } from './prepared-statements.ts'

/** ANALYZE reads 300 rows of a table for each unit of this, and other statements wait meanwhile. */
const STATISTICS = { default_statistics_target: '10' }

/**
 * Postgres fills its buffers with zeros when it starts. By default they have 128 MB, all of which then count as memory
 * of this process. Pages that do not fit are read from files that the operating system caches.
 */
const START_PARAMETERS = [...PGlite.defaultStartParams, ...toOptions({ shared_buffers: '32MB', ...STATISTICS })]

/**
 * Opens the data directory, and creates it when there is none. A file beside it exists while it is being created. When
 * the process is killed meanwhile, the next start finds that file and creates the directory again.
 */
export async function openDataDirectory(data: string): Promise<PGlite> {
  const unfinished = unfinishedOf(data)
  const isNew = !existsSync(data) || existsSync(unfinished)
  if (isNew && existsSync(restoredOf(data))) throw restoreInterrupted(data)
  try {
    if (isNew) {
      await writeFile(unfinished, '')
      await rm(data, { recursive: true, force: true })
      writeEmptyDatabase(data)
      await rm(unfinished)
    }
    return await openLeanPGlite({ dataDir: data, startParams: START_PARAMETERS })
  } catch (error) {
    throw cannot(`open the embedded database in ${data}`, error)
  }
}

/** Refuses a start after an interrupted restore: an empty database would look as if everything was lost. */
function restoreInterrupted(data: string): DatabaseOpenError {
  return new DatabaseOpenError(
    `A restore of ${data} was interrupted, so there is no database. Run "svc restore" again. To begin with an empty ` +
      `database instead, delete ${restoredOf(data)}.`,
  )
}

/** Opens an empty database in memory. */
export async function openMemory(): Promise<PGlite> {
  return openLeanPGlite({ loadDataDir: new Blob([readEmptyDatabase()]), startParams: START_PARAMETERS })
}

function cannot(what: string, cause: unknown): DatabaseOpenError {
  const advice = 'Check SVC_DATABASE_URL, and that its disk has space left.'
  return new DatabaseOpenError(`Cannot ${what}: ${String(cause)}. ${advice}`, { cause })
}

function toOptions(parameters: Readonly<Record<string, string>>): string[] {
  return Object.entries(parameters).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** A connection for migrating an open PGlite. */
export function toMigrationConnection(pglite: PGlite): MigrationConnection {
  return {
    query: async (sql, parameters = []) => (await pglite.query<Record<string, unknown>>(sql, [...parameters])).rows,
    script: async (sql) => void (await pglite.exec(sql)),
  }
}

/** The package's Prisma adapter for PGlite, with transactions that report a failed COMMIT. */
export function makePgliteAdapter(pglite: PGlite): SqlDriverAdapterFactory {
  const prepared = withPreparedStatements(pglite)
  const factory = new PrismaPGlite(prepared)
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    async connect() {
      const adapter = await factory.connect()
      return Object.assign(adapter, { startTransaction: () => startTransaction(prepared) })
    },
  }
}

/**
 * What the adapter uses of PGlite, with prepared statements. The adapter's parsers are registered once: PGlite would
 * copy its 300 parsers for each query otherwise, which takes as long as the query itself.
 */
function withPreparedStatements(pglite: PGlite): PGlite {
  const run = makePreparedStatements(pglite)
  let registered: ParserOptions | undefined
  const query: PGlite['query'] = (sql, values, { parsers } = {}) => {
    if (parsers && parsers !== registered) {
      Object.assign(pglite.parsers, parsers)
      registered = parsers
    }
    return pglite.runExclusive(() => run(sql, values))
  }
  const used: Pick<PGlite, 'query' | 'exec' | 'transaction'> = {
    async query<Row>(...given: Parameters<PGlite['query']>) {
      await pglite._checkReady()
      return pglite._runExclusiveTransaction(() => query<Row>(...given))
    },
    exec: (sql, options) => pglite.exec(sql, options),
    transaction: (work) => pglite.transaction((transaction) => work({ ...transaction, query })),
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
