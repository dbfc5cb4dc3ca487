import { existsSync, openAsBlob } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { PGlite } from '@electric-sql/pglite'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import { PrismaClient } from '../../generated/prisma/client.ts'
import packageLock from '../../package-lock.json' with { type: 'json' }
import { once } from '../../src/database/client.ts'
import type { Database, Listening } from '../../src/database/client.ts'
import { openLeanPGlite } from '../../src/database/embedded/lean-pglite.ts'
import { openMemory, makePgliteAdapter, toMigrationConnection } from '../../src/database/embedded/pglite.ts'
import { toDatabase } from '../../src/database/embedded/pglite-database.ts'
import { makePreparedStatements } from '../../src/database/embedded/prepared-statements.ts'
import type { RunStatement } from '../../src/database/embedded/prepared-statements.ts'
import { migrate, readMigrations } from '../../src/database/migrations.ts'
import { schemaKey } from './schema-key.ts'

export type TestDatabase = Database & AsyncDisposable

/** An open, migrated database in memory, with its Prisma client. */
type Opened = { readonly pglite: PGlite; readonly database: Database }

/** The empty databases of this worker that no test uses now. */
const idle: Opened[] = []

/**
 * An empty, migrated database in memory that only the caller uses until it is closed. Then it is emptied for the next
 * test of this worker.
 *
 * This takes milliseconds, except for the first database of a worker, which is loaded from a dump in half a second. The
 * first worker of all makes the dump, in some seconds.
 */
export async function freshDatabase(): Promise<TestDatabase> {
  const opened = idle.pop() ?? (await open(await loadMigrated()))
  const loan = lend(opened)
  const close = once(async () => {
    await loan.close()
    await opened.pglite.exec('EXECUTE empty')
    idle.push(opened)
  })
  return { ...loan, close, [Symbol.asyncDispose]: close }
}

/** Connects Prisma to a PGlite in this thread, because a thread for each database would cost seconds. */
async function open(pglite: PGlite): Promise<Opened> {
  await prepareEmpty(pglite)
  const database = toDatabase({
    adapter: makePgliteAdapter(pglite),
    ping: () => pglite.query('SELECT 1'),
    listen(channel, onNotice) {
      const started = pglite.listen(channel, onNotice)
      // When the database is closed meanwhile, there is nothing to listen to.
      return () => void started.then((stop) => stop()).catch(() => undefined)
    },
    copyFiles: null,
    crashed: new Promise(() => undefined),
    close: () => pglite.close(),
  })
  return { pglite, database }
}

/**
 * The same database, except that closing it ends only this loan: later queries of the loan are refused, as by a closed
 * database. All loans share a Prisma client, because a new one takes 15 ms of CPU time and compiles each query again.
 */
function lend({ pglite, database }: Opened): Database {
  const listenings: Listening[] = []
  let ended = false
  return {
    prisma: lendClient(database.prisma, () => ended),
    query: (sql) => (ended ? refuse() : database.query(sql)),
    execute: (sql) => (ended ? refuse() : database.execute(sql)),
    ping: () => (ended ? Promise.resolve(false) : database.ping()),
    listen(channel, onNotice) {
      const listening = database.listen(channel, onNotice)
      listenings.push(listening)
      return listening
    },
    copyFiles: null,
    crashed: database.crashed,
    close: async () => {
      for (const listening of listenings) listening.close()
      // Waits for the queries that were sent before.
      await pglite.query('SELECT 1')
      ended = true
    },
  }
}

/** The same client until the loan ends, then one that refuses. What a test sets on it does not outlast the loan. */
function lendClient(shared: PrismaClient, hasEnded: () => boolean): PrismaClient {
  const set = new Map<PropertyKey, unknown>()
  return new Proxy(shared, {
    get: (_shared, member) =>
      set.has(member) ? set.get(member) : (Reflect.get(hasEnded() ? closedClient() : shared, member) as unknown),
    set: (_shared, member, value) => set.set(member, value).has(member),
  })
}

const refuse = () => Promise.reject(new Error('PGlite is closed'))

let closed: PrismaClient | undefined

/** The client of a closed database, which refuses every query. */
function closedClient(): PrismaClient {
  const refusing: Pick<PGlite, 'query' | 'exec' | 'transaction'> = { query: refuse, exec: refuse, transaction: refuse }
  // The adapter uses only these members.
  return (closed ??= new PrismaClient({ adapter: new PrismaPGlite(refusing as PGlite), errorFormat: 'minimal' }))
}

/**
 * Prepares the statement that empties a database. It uses DELETE, because TRUNCATE takes twenty times as long on small
 * tables. One statement deletes from all tables, so that their order does not matter: foreign keys are checked at its
 * end. Without triggers (`session_replication_role`), Postgres would plan all prepared statements again.
 */
async function prepareEmpty(pglite: PGlite): Promise<void> {
  const { rows } = await pglite.query<{ name: string }>(
    `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'`,
  )
  const deletes = rows.map(({ name }, index) => `deleted_${index} AS (DELETE FROM ${name})`)
  await pglite.exec(`PREPARE empty AS WITH ${deletes.join()} SELECT`)
}

const cache = fileURLToPath(new URL('../../node_modules/.cache/svc/', import.meta.url))

/** A PGlite in memory, migrated and empty. The caller closes it. */
export async function loadMigrated(): Promise<PGlite> {
  const engine = packageLock.packages['node_modules/@electric-sql/pglite'].version
  const dump = `${cache}database-${await schemaKey(engine)}.tar`
  if (existsSync(dump)) return openLeanPGlite({ loadDataDir: await openAsBlob(dump) })

  const pglite = await openMemory()
  await migrate(toMigrationConnection(pglite), await readMigrations())
  const blob = await pglite.dumpDataDir('none')
  await mkdir(cache, { recursive: true })
  // Renamed when complete, because several workers may write the dump at once.
  const part = `${dump}.${process.pid}`
  await writeFile(part, Buffer.from(await blob.arrayBuffer()))
  await rename(part, dump)
  return pglite
}

/** A PGlite in memory, migrated and empty, with the statements that it keeps prepared. The caller closes it. */
export async function openPrepared(): Promise<{ readonly pglite: PGlite; readonly run: RunStatement }> {
  const pglite = await loadMigrated()
  return { pglite, run: makePreparedStatements(pglite) }
}
