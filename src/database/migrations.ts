import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { hasCode } from '../kernel/error-code.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Logger } from '../log.ts'

/** A connection that is used for migrating only, so that a lock taken on it is held until `migrate` returns. */
export type MigrationConnection = {
  query(sql: string, parameters?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>
  /** Runs several statements, separated by semicolons. */
  script(sql: string): Promise<void>
}

export type Migration = { readonly name: string; readonly sql: string; readonly checksum: string }

export const migrationsDirectory = fileURLToPath(new URL('../../prisma/migrations/', import.meta.url))

/** The schema of the database does not fit this version of the service. The message says what to do. */
export class MigrationError extends OperatorError {
  override readonly name = 'MigrationError'
}

/**
 * Applies the migrations that the database does not have yet and returns their names, oldest first. Each migration runs
 * once, in a transaction of its own, also when several processes start at once. The records are Prisma's (table
 * `_prisma_migrations`, checksums, advisory lock), so `prisma migrate deploy` can be used instead at any time.
 */
export async function migrate(
  connection: MigrationConnection,
  migrations: readonly Migration[],
  log: Pick<Logger, 'warn'> | null = null,
): Promise<string[]> {
  await lock(connection)
  try {
    await makeBookkeepingTable(connection)
    const applied = await readApplied(connection)
    assertUsable(applied, migrations)

    const pending = migrations.filter(({ name }) => !applied.some((row) => row.name === name))
    for (const migration of pending) await apply(connection, migration, log)
    return pending.map(({ name }) => name)
  } finally {
    // A broken connection has already lost the lock, and its own error is the one to report.
    await connection.query('SELECT pg_advisory_unlock($1)', [PRISMA_LOCK]).catch(() => undefined)
  }
}

/** The migrations of this version, ordered by name; names start with a timestamp. */
export async function readMigrations(directory = migrationsDirectory): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  return Promise.all(names.sort().map((name) => readMigration(directory, name)))
}

async function readMigration(directory: string, name: string): Promise<Migration> {
  const sql = await readFile(`${directory}/${name}/migration.sql`, 'utf8')
  return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
}

/** The advisory lock of Prisma's own migrator, so that the two never run at the same time. */
const PRISMA_LOCK = 72707369

async function lock(connection: MigrationConnection): Promise<void> {
  await connection.script("SET lock_timeout = '60s'")
  try {
    await connection.query('SELECT 1 FROM pg_advisory_lock($1)', [PRISMA_LOCK])
  } catch (error) {
    if (!hasCode(error, LOCK_NOT_AVAILABLE)) throw error
    throw new MigrationError('Another process has been migrating this database for a minute. Check that process.')
  } finally {
    await connection.script('SET lock_timeout = DEFAULT').catch(() => undefined)
  }
}

/** What Postgres answers after its `lock_timeout` (PostgreSQL, appendix A). */
const LOCK_NOT_AVAILABLE = '55P03'

const BOOKKEEPING_TABLE = `
CREATE TABLE "_prisma_migrations" (
    "id"                    VARCHAR(36) PRIMARY KEY NOT NULL,
    "checksum"              VARCHAR(64) NOT NULL,
    "finished_at"           TIMESTAMPTZ,
    "migration_name"        VARCHAR(255) NOT NULL,
    "logs"                  TEXT,
    "rolled_back_at"        TIMESTAMPTZ,
    "started_at"            TIMESTAMPTZ NOT NULL DEFAULT now(),
    "applied_steps_count"   INTEGER NOT NULL DEFAULT 0
)`

/** The table is looked up first: `IF NOT EXISTS` needs the right to create tables, also where the table exists. */
async function makeBookkeepingTable(connection: MigrationConnection): Promise<void> {
  const [found] = await connection.query(`SELECT to_regclass('"_prisma_migrations"') IS NOT NULL AS exists`)
  if (found?.exists !== true) await connection.script(BOOKKEEPING_TABLE)
}

type AppliedMigration = { readonly name: string; readonly checksum: string; readonly finished: boolean }

async function readApplied(connection: MigrationConnection): Promise<AppliedMigration[]> {
  const rows = await connection.query(
    `SELECT migration_name, checksum, finished_at IS NOT NULL AS finished
       FROM "_prisma_migrations" WHERE rolled_back_at IS NULL`,
  )
  return rows.map((row) => ({
    name: String(row.migration_name),
    checksum: String(row.checksum),
    finished: row.finished === true,
  }))
}

/**
 * Throws when the database has migrations that failed or were changed, or that this version does not know and that are
 * not newer than its own. Newer ones only add, so the version before them goes on working.
 */
function assertUsable(applied: readonly AppliedMigration[], migrations: readonly Migration[]): void {
  const wrong = applied.flatMap((row) => judge(row, migrations) ?? [])
  if (wrong.length > 0) throw new MigrationError(wrong.join(' '))
}

function judge({ name, checksum, finished }: AppliedMigration, migrations: readonly Migration[]): string | null {
  const known = migrations.find((migration) => migration.name === name)
  const isNewer = migrations.every((migration) => migration.name < name)
  if (!known && !isNewer) {
    return `The database has the migration ${name}, which this version does not know. Start the version that made it.`
  }
  if (!finished)
    return `The migration ${name} failed before its end in this database. Repair it with "prisma migrate resolve".`
  if (known && known.checksum !== checksum) {
    return `The file of the migration ${name} was changed after it was applied to this database. Restore the file.`
  }
  return null
}

/**
 * How long a migration waits for a lock. Statements of running processes queue up behind it, and this is shorter than
 * their timeouts.
 */
const LOCK_TIMEOUT = '1s'

/** The pause before a migration waits for its locks again. Running processes are not delayed meanwhile. */
const LOCK_PAUSE_MS = 3000

/** Applies a migration. While others hold locks that it needs, such as a backup, it gives way and tries again. */
async function apply(
  connection: MigrationConnection,
  migration: Migration,
  log: Pick<Logger, 'warn'> | null,
): Promise<void> {
  for (let tries = 1; !(await tryToApply(connection, migration)); tries++) {
    // Logged once, not at each attempt.
    if (tries === 1)
      log?.warn({ migration: migration.name, holders: await findHolders(connection) }, 'database.migration_waiting')
    await sleep(LOCK_PAUSE_MS)
  }
}

/** Resolves with false when a lock was not free in time. */
async function tryToApply(connection: MigrationConnection, { name, sql, checksum }: Migration): Promise<boolean> {
  await connection.script(`BEGIN; SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
  try {
    await connection.script(sql)
    await connection.query(
      `INSERT INTO "_prisma_migrations" (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
      [randomUUID(), checksum, name],
    )
    await connection.script('COMMIT')
    return true
  } catch (error) {
    await connection.script('ROLLBACK').catch(() => undefined)
    if (hasCode(error, LOCK_NOT_AVAILABLE)) return false
    throw new MigrationError(`The migration ${name} failed and changed nothing: ${String(error)}`, { cause: error })
  }
}

/** The names and process ids of other sessions with locks on tables. Statements of this service end soon. */
async function findHolders(connection: MigrationConnection): Promise<string[]> {
  const rows = await connection.query(
    `SELECT DISTINCT pid, application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'relation' AND granted AND datname = current_database() AND application_name <> 'svc'
        AND pid <> pg_backend_pid()`,
  )
  return rows.map(({ name, pid }) => `${String(name)} ${String(pid)}`)
}
