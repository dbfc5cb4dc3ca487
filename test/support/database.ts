import { createHash } from 'node:crypto'
import { existsSync, openAsBlob } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import type { Database } from '../../src/database/client.ts'
import { toDatabase } from '../../src/database/embedded.ts'
import { migrate, readMigrations } from '../../src/database/migrations.ts'
import { openMemory, pgliteAdapter, toMigrationConnection } from '../../src/database/pglite.ts'
import packageLock from '../../package-lock.json' with { type: 'json' }

export type TestDatabase = Database & AsyncDisposable

/** The empty databases of this worker that no test uses now. */
const idle: PGlite[] = []

/**
 * An empty, migrated database in memory that only the caller uses until it is closed. Then it is emptied for the next
 * test of this worker.
 *
 * This takes milliseconds, except for the first database of a worker, which is loaded from a dump in half a second. The
 * first worker of all makes the dump, in some seconds.
 */
export async function freshDatabase(): Promise<TestDatabase> {
  const pglite = idle.pop() ?? (await loadMigrated())
  const database = await openPGlite(lend(pglite))
  const close = async () => {
    await database.close()
    await empty(pglite)
    idle.push(pglite)
  }
  const closeOnce = once(close)
  return { ...database, close: closeOnce, [Symbol.asyncDispose]: closeOnce }
}

/** Migrates a PGlite and connects Prisma to it in this thread, because a thread for each database would cost seconds. */
async function openPGlite(pglite: PGlite): Promise<Database> {
  await migrate(toMigrationConnection(pglite), await readMigrations())
  return toDatabase({
    adapter: pgliteAdapter(pglite),
    ping: () => pglite.query('SELECT 1'),
    listen(channel, onNotice) {
      const started = pglite.listen(channel, onNotice)
      // When the database is closed meanwhile, there is nothing to listen to.
      return () => void started.then((stop) => stop()).catch(() => undefined)
    },
    copyFiles: null,
    close: () => pglite.close(),
  })
}

/** The same database, except that closing it ends only this loan: later queries of the loan are refused. */
function lend(pglite: PGlite): PGlite {
  let ended = false
  const check = () => {
    if (ended) throw new Error('PGlite is closed')
  }
  const loan: Pick<PGlite, 'query' | 'exec' | 'transaction' | 'listen' | 'close' | 'parsers'> = {
    parsers: pglite.parsers,
    query: async (...given) => (check(), pglite.query(...given)) as never,
    exec: async (...given) => (check(), pglite.exec(...given)),
    transaction: async (run) => (check(), pglite.transaction(run)),
    listen: async (...given) => (check(), pglite.listen(...given)),
    close: async () => {
      // Waits for the queries that were sent before.
      await pglite.query('SELECT 1')
      ended = true
    },
  }
  // The code behind `Database` uses only these members.
  return loan as PGlite
}

/**
 * Uses DELETE, because TRUNCATE takes twenty times as long on small tables; without triggers, so that the order of
 * tables does not matter.
 */
async function empty(pglite: PGlite): Promise<void> {
  const { rows } = await pglite.query<{ name: string }>(
    `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'`,
  )
  const deletes = rows.map(({ name }) => `DELETE FROM ${name};`).join('')
  await pglite.exec(`SET session_replication_role = replica; ${deletes} SET session_replication_role = DEFAULT;`)
}

const cache = fileURLToPath(new URL('../../node_modules/.cache/svc/', import.meta.url))

/** A PGlite in memory, migrated and empty. The caller closes it. */
export async function loadMigrated(): Promise<PGlite> {
  const dump = `${cache}database-${await schemaKey()}.tar`
  if (existsSync(dump)) return PGlite.create({ loadDataDir: await openAsBlob(dump) })

  const pglite = await openMemory()
  await openPGlite(lend(pglite))
  const blob = await pglite.dumpDataDir('none')
  await mkdir(cache, { recursive: true })
  // Renamed when complete, because several workers may write the dump at once.
  const part = `${dump}.${process.pid}`
  await writeFile(part, Buffer.from(await blob.arrayBuffer()))
  await rename(part, dump)
  return pglite
}

/** A key that changes when the engine or a migration changes. */
async function schemaKey(): Promise<string> {
  const engine = packageLock.packages['node_modules/@electric-sql/pglite'].version
  const checksums = (await readMigrations()).map(({ checksum }) => checksum)
  return createHash('sha256')
    .update([engine, ...checksums].join())
    .digest('hex')
    .slice(0, 16)
}

function once(run: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null
  return () => (done ??= run())
}
