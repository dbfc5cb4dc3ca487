import { setTimeout as sleep } from 'node:timers/promises'
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { Database } from '../../database/client.ts'
import { addSeconds } from '../../kernel/clock.ts'
import { DAY_SECONDS } from '../../kernel/durations.ts'
import { sweepersOf } from './sweepers.ts'
import type { Sweeper } from './sweepers.ts'

type Options = {
  /** How long audit events are kept; null: always. */
  readonly auditDays?: number | null
  readonly vacuumAfter?: typeof VACUUM_AFTER
  /** Rows that one statement deletes, so that each is short and other statements run in between. */
  readonly rowsPerBatch?: number
}

/** When an embedded database reclaims space. */
const VACUUM_AFTER = {
  /** Deleted rows of a table. */
  rows: 10_000,
  /** Pages of a table. It is analyzed when it has this size, and each time that it has doubled. */
  pages: 50,
  /** Write-ahead log since the last checkpoint: it stays on the disk, and is replayed after a crash. */
  logBytes: 16 * 1024 * 1024,
}

const ROWS_PER_BATCH = 500

/** The pause between batches, which other statements use. */
const PAUSE_MS = 10

/** A round ends after this time. The next one continues. */
const MAX_ROUND_MS = 30_000

export type HousekeepingStore = ReturnType<typeof makeHousekeepingStore>

/** What a round deleted, and the tables in which it failed. */
export type SweepResult = { readonly rows: number; readonly failures: readonly { table: string; err: unknown }[] }

/** Deletes rows that are not needed any more, and reclaims the space that they leave. */
export function makeHousekeepingStore({ prisma: db }: Pick<Database, 'prisma'>, options: Options = {}) {
  const { auditDays = null, vacuumAfter = VACUUM_AFTER, rowsPerBatch = ROWS_PER_BATCH } = options
  const sweepers = sweepersOf(db, auditDays)
  const deleted = new Map<string, number>()
  let isAlone: boolean | null = null

  return {
    /**
     * Deletes expired challenges, logins and sessions that ended long ago, and old events, in small batches until none
     * is left, or for half a minute. A table in which that fails, because it is locked or slow, does not keep the
     * others from being swept.
     */
    async sweep(now: Date, stopped?: AbortSignal): Promise<SweepResult> {
      const ago = (days: number) => addSeconds(now, -days * DAY_SECONDS)
      const failures: { table: string; err: unknown }[] = []
      const endsAt = performance.now() + MAX_ROUND_MS
      const finished = new Set<Sweeper>()
      let rows = 0
      while (finished.size < sweepers.length && performance.now() < endsAt && !stopped?.aborted) {
        // One batch of each table, so that a table with much to delete does not keep the others waiting.
        for (const one of sweepers.filter((candidate) => !finished.has(candidate))) {
          const { count, isLast } = await one.deleteBatch(ago, rowsPerBatch).catch((err: unknown) => {
            failures.push({ table: one.table, err })
            return { count: 0, isLast: true }
          })
          rows += count
          deleted.set(one.table, (deleted.get(one.table) ?? 0) + count)
          if (isLast) finished.add(one)
          else await sleep(PAUSE_MS)
        }
      }
      return { rows, failures }
    },

    /** The time of the database's own clock. */
    async findTime(): Promise<Date> {
      const [row] = await db.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`
      if (!row) throw new Error('The database has no time.')
      return row.now
    },

    /**
     * Reclaims space in an embedded database, which has no background processes as a Postgres server has, and updates
     * the statistics of its planner. Without it the space of deleted rows is never used again, the write-ahead log
     * grows until the process ends, and a query may read all sessions to find those of one account.
     */
    async vacuum(): Promise<void> {
      isAlone ??= await isStandalone(db)
      if (!isAlone) return
      for (const [table, rows] of deleted) {
        if (rows < vacuumAfter.rows) continue
        await db.$executeRawUnsafe(`VACUUM (ANALYZE) ${table}`)
        deleted.delete(table)
      }
      for (const table of await findGrown(db, vacuumAfter.pages)) await db.$executeRawUnsafe(`ANALYZE ${table}`)
      if ((await logBytes(db)) > vacuumAfter.logBytes) await db.$executeRaw`CHECKPOINT`
    },
  }
}

/** Whether the database is a single process without background workers (PostgreSQL, `pg_stat_activity`). */
async function isStandalone(db: PrismaClient): Promise<boolean> {
  const [own] = await db.$queryRaw<{ type: string | null }[]>`
    SELECT backend_type AS type FROM pg_stat_activity WHERE pid = pg_backend_pid()`
  return own?.type === 'standalone backend'
}

/** The tables that have doubled since they were analyzed (PostgreSQL, `pg_class.relpages`). */
async function findGrown(db: PrismaClient, minPages: number): Promise<string[]> {
  const tables = await db.$queryRaw<{ name: string }[]>`
    SELECT relname::text AS name FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
      AND pg_relation_size(oid) >= 2 * greatest(relpages, ${minPages}::int / 2) * current_setting('block_size')::bigint`
  return tables.map(({ name }) => name)
}

/** The size of the write-ahead log since the last checkpoint. */
async function logBytes(db: PrismaClient): Promise<number> {
  const [log] = await db.$queryRaw<{ bytes: number }[]>`
    SELECT (pg_current_wal_insert_lsn() - redo_lsn)::float8 AS bytes FROM pg_control_checkpoint()`
  return log?.bytes ?? 0
}
