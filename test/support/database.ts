import { createHash } from 'node:crypto'
import { existsSync, openAsBlob } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import { openPGlite } from '../../src/database/pglite.ts'
import type { Database } from '../../src/database/client.ts'
import { readMigrations } from '../../src/database/migrations.ts'
import packageLock from '../../package-lock.json' with { type: 'json' }

export type TestDatabase = Database & AsyncDisposable

/** Databases of this worker that no test is using, empty. */
const idle: PGlite[] = []

/**
 * An empty, migrated database in memory, of the caller's own until it closes it: then the next test in this worker gets it,
 * emptied. Costs milliseconds but for the first of a worker, which is loaded from a dump (half a second) that the first
 * worker of all makes (some seconds).
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

/** The same database, except that closing it only ends this loan: what still asks afterwards is refused. */
function lend(pglite: PGlite): PGlite {
  let ended = false
  const check = () => {
    if (ended) throw new Error('PGlite is closed')
  }
  const loan: Pick<PGlite, 'query' | 'exec' | 'transaction' | 'close' | 'parsers'> = {
    parsers: pglite.parsers,
    query: async (...given) => (check(), pglite.query(...given)) as never,
    exec: async (...given) => (check(), pglite.exec(...given)),
    transaction: async (run) => (check(), pglite.transaction(run)),
    close: async () => {
      // After everything that was asked before.
      await pglite.query('SELECT 1')
      ended = true
    },
  }
  // What is left out, nobody behind a Database asks for.
  return loan as PGlite
}

/** DELETE, because TRUNCATE costs twenty times as much on small tables; without triggers, so that order does not matter. */
async function empty(pglite: PGlite): Promise<void> {
  const { rows } = await pglite.query<{ name: string }>(
    `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'`,
  )
  const deletes = rows.map(({ name }) => `DELETE FROM ${name};`).join('')
  await pglite.exec(`SET session_replication_role = replica; ${deletes} SET session_replication_role = DEFAULT;`)
}

const cache = fileURLToPath(new URL('../../node_modules/.cache/svc/', import.meta.url))

/** A PGlite in memory, migrated and empty; whoever takes one closes it. */
export async function loadMigrated(): Promise<PGlite> {
  const dump = `${cache}database-${await schemaKey()}.tar`
  if (existsSync(dump)) return PGlite.create({ loadDataDir: await openAsBlob(dump) })

  const pglite = await PGlite.create()
  await openPGlite(lend(pglite))
  const blob = await pglite.dumpDataDir('none')
  await mkdir(cache, { recursive: true })
  // Whole or not at all: several workers may do this at once.
  const part = `${dump}.${process.pid}`
  await writeFile(part, Buffer.from(await blob.arrayBuffer()))
  await rename(part, dump)
  return pglite
}

/** Changes with whatever the dump depends on. */
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
