// `npm run release:database` writes the database that a first start copies, with all migrations of today.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { PGlite } from '@electric-sql/pglite'
import { emptyDatabaseFile } from '../src/database/embedded/empty-database.ts'
import { migrate, readMigrations } from '../src/database/migrations.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-empty-database-'))
try {
  const data = path.join(folder, 'data')
  await makeDatabase(data)
  const archive = execFileSync('tar', ['--format=ustar', '-cf', '-', '-C', data, ...readdirSync(data)], {
    maxBuffer: 256 * 1024 * 1024,
  })
  writeFileSync(emptyDatabaseFile, compress(archive))
  console.log(`Wrote ${emptyDatabaseFile}.`)
} finally {
  rmSync(folder, { recursive: true })
}

async function makeDatabase(data: string): Promise<void> {
  const pglite = await PGlite.create(data)
  const connection = {
    query: async (sql: string, parameters: readonly unknown[] = []) =>
      (await pglite.query<Record<string, unknown>>(sql, [...parameters])).rows,
    script: async (sql: string) => void (await pglite.exec(sql)),
  }
  await migrate(connection, await readMigrations())
  await dropTemplates(pglite)
  const log = await startNewLog(pglite)
  await pglite.close()
  for (const name of readdirSync(path.join(data, 'pg_wal'))) {
    if (/^[0-9A-F]{24}$/.test(name) && name !== log) rmSync(path.join(data, 'pg_wal', name))
  }
}

/** The templates of new databases are two thirds of all files, and this cluster never gets another database. */
async function dropTemplates(pglite: PGlite): Promise<void> {
  await pglite.exec('UPDATE pg_database SET datistemplate = false')
  for (const name of ['template0', 'template1']) await pglite.exec(`DROP DATABASE ${name}`)
}

/** Starts a new file of the write-ahead log, which is empty, and returns its name. Earlier files are not needed then. */
async function startNewLog(pglite: PGlite): Promise<string | undefined> {
  await pglite.exec('CHECKPOINT')
  await pglite.query('SELECT pg_switch_wal()')
  await pglite.exec('CHECKPOINT')
  const { rows } = await pglite.query<{ name: string }>('SELECT pg_walfile_name(pg_current_wal_lsn()) AS name')
  return rows[0]?.name
}

function compress(archive: Buffer): Buffer {
  const { BROTLI_PARAM_LGWIN, BROTLI_MAX_WINDOW_BITS, BROTLI_PARAM_QUALITY } = constants
  return brotliCompressSync(archive, {
    params: { [BROTLI_PARAM_LGWIN]: BROTLI_MAX_WINDOW_BITS, [BROTLI_PARAM_QUALITY]: 11 },
  })
}
