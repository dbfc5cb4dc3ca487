/** Restores a backup of an embedded database into a database on a Postgres server. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseConfig } from '../config/values.ts'
import type { Logger } from '../log.ts'
import { BackupError, copyData, dataOf, requireWhole } from './embedded/backup.ts'
import { openDataDirectory, toMigrationConnection } from './embedded/pglite.ts'
import { migrate, readMigrations } from './migrations.ts'
import type { MigrationConnection } from './migrations.ts'
import { openDatabase } from './open.ts'
import { connectForMigrating, connectionForMigrating } from './postgres/postgres.ts'

/**
 * Fills a database without accounts and keys with the rows of a backup, in one transaction. Rejects with a
 * `BackupError` when the backup is damaged, or when the database is in use.
 */
export async function restoreToPostgres(
  config: DatabaseConfig & { readonly kind: 'postgres' },
  backup: string,
  log: Logger,
): Promise<void> {
  await requireWhole(backup)
  // Migrates its schema.
  await (await openDatabase(config, log)).close()
  const client = await connectForMigrating(() => config.url)
  try {
    const target = connectionForMigrating(client)
    await target.script('SET statement_timeout = 0; BEGIN')
    await withCopy(backup, (source) => copyRows(source, target))
    await target.script('COMMIT')
  } finally {
    // Undoes what is not committed.
    await client.end()
  }
}

/** Opens a copy of the backup, with the tables of this version. */
async function withCopy(backup: string, use: (copy: MigrationConnection) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-restore-'))
  try {
    await copyData(dataOf(backup), dataOf(folder))
    const pglite = await openDataDirectory(dataOf(folder))
    const copy = toMigrationConnection(pglite)
    await migrate(copy, await readMigrations())
    await use(copy)
    await pglite.close()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Triggers of `usage_days` fill them. */
const SUMMED = ['usage_team_days', 'usage_caller_months']

async function copyRows(source: MigrationConnection, target: MigrationConnection): Promise<void> {
  const [used] = await target.query('SELECT 1 FROM accounts UNION ALL SELECT 1 FROM signing_keys LIMIT 1')
  if (used) throw new BackupError('The database of SVC_DATABASE_URL is in use already. Create an empty one.')
  const tables = await readTables(source)
  await target.script(`TRUNCATE ${[...tables, ...SUMMED].join(', ')}`)
  await source.script('BEGIN')
  for (const table of tables) await copyTable(table, source, target)
  await source.script('COMMIT')
}

/** The tables, each behind those that it refers to. */
async function readTables({ query }: MigrationConnection): Promise<string[]> {
  const rows = await query(
    `SELECT t.tablename AS name, array_remove(array_agg(f.confrelid::regclass::text), NULL) AS targets
     FROM pg_tables t
     LEFT JOIN pg_constraint f ON f.conrelid = t.tablename::regclass AND f.contype = 'f' AND f.confrelid <> f.conrelid
     WHERE t.schemaname = 'public' AND t.tablename <> '_prisma_migrations' AND t.tablename <> ALL ($1)
     GROUP BY 1 ORDER BY 1`,
    [SUMMED],
  )
  const left = new Map(rows.map(({ name, targets }) => [String(name), targets as readonly string[]]))
  const ordered: string[] = []
  while (left.size > 0) {
    const next = [...left].filter(([, targets]) => targets.every((target) => !left.has(target))).map(([name]) => name)
    if (next.length === 0) throw new Error(`The tables ${[...left.keys()].join(', ')} refer to each other.`)
    ordered.push(...next)
    for (const name of next) left.delete(name)
  }
  return ordered
}

/** How many rows are read at once. */
const PAGE = 1000

/** Rows of this table refer to each other, so all of them are inserted at once. */
const REFERS_TO_ITSELF = 'api_keys'

async function copyTable(table: string, source: MigrationConnection, target: MigrationConnection): Promise<void> {
  await source.script(`DECLARE rows NO SCROLL CURSOR FOR SELECT to_jsonb(t)::text AS row FROM ${table} t`)
  const fetch = `FETCH ${table === REFERS_TO_ITSELF ? 'ALL' : PAGE} FROM rows`
  for (let rows = await source.query(fetch); rows.length > 0; rows = await source.query(fetch)) {
    const page = `[${rows.map(({ row }) => String(row)).join(',')}]`
    await target.query(`INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`, [page])
  }
  await source.script('CLOSE rows')
  await continueSequence(table, target)
}

/** Lets the sequence of a table's ids, if it has one, go on behind the largest id. */
async function continueSequence(table: string, { query }: MigrationConnection): Promise<void> {
  const [column] = await query(
    `SELECT pg_get_serial_sequence($1, column_name) AS sequence FROM information_schema.columns
     WHERE table_name = $1 AND table_schema = 'public' AND column_default LIKE 'nextval(%'`,
    [table],
  )
  if (column) await query(`SELECT setval($1, max(id)) FROM ${table} HAVING max(id) IS NOT NULL`, [column['sequence']])
}
