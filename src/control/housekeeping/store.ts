import { setTimeout as sleep } from 'node:timers/promises'
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { Database } from '../../database/client.ts'
import { rawSql, sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import { addSeconds } from '../../kernel/clock.ts'
import { DAY_SECONDS } from '../../kernel/durations.ts'
import { LAST_SEEN_DAYS } from '../members/rules.ts'

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

type Ago = (days: number) => Date

/** Deletes one batch of old rows. `isLast`: none is left. */
type DeleteBatch = (ago: Ago, limit: number) => Promise<{ readonly count: number; readonly isLast: boolean }>

type Table = { readonly table: string; readonly deleteBatch: DeleteBatch }

/** Deletes rows that are not needed any more, and reclaims the space that they leave. */
export function makeHousekeepingStore({ prisma: db }: Pick<Database, 'prisma'>, options: Options = {}) {
  const { auditDays = null, vacuumAfter = VACUUM_AFTER, rowsPerBatch = ROWS_PER_BATCH } = options
  const tables = tablesOf(db, auditDays)
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
      const finished = new Set<Table>()
      let rows = 0
      while (finished.size < tables.length && performance.now() < endsAt && !stopped?.aborted) {
        // One batch of each table, so that a table with much to delete does not keep the others waiting.
        for (const one of tables.filter((candidate) => !finished.has(candidate))) {
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

function tablesOf(db: PrismaClient, auditDays: number | null): readonly Table[] {
  return [
    makeTimeSweeper(db, 'webauthn_challenges', 'expires_at', 0),
    // Kept for a day, so that a link that is opened late says that it has expired.
    makeTimeSweeper(db, 'sign_in_links', 'expires_at', 1),
    makeTimeSweeper(db, 'browser_sessions', 'absolute_expires_at', LAST_SEEN_DAYS),
    makeTimeSweeper(db, 'browser_sessions', 'revoked_at', LAST_SEEN_DAYS),
    makeDeviceSweeper(db, 'absolute_expires_at', LAST_SEEN_DAYS),
    makeDeviceSweeper(db, 'revoked_at', LAST_SEEN_DAYS),
    makeLoginSweeper(db, 1),
    // Kept as long as the call events that name them.
    makeTimeSweeper(db, 'api_keys', 'expires_at', 90),
    // Kept for a quarter of a year.
    makeEventSweeper(db, 'call_events', 90),
    // As long as its events.
    makeTimeSweeper(db, 'agent_sessions', 'last_active_at', 90),
    // No gateway retries a batch for a week.
    makeTimeSweeper(db, 'call_event_batches', 'saved_at', 7),
    // No limit counts days before this month, or before this week.
    makeTimeSweeper(db, 'spending_days', 'day', 62),
    makeTimeSweeper(db, 'spending_notices', 'sent_at', 62),
    ...(auditDays === null ? [] : [makeEventSweeper(db, 'audit_events', auditDays)]),
  ]
}

/**
 * Finds the oldest rows by the index of the column. They are deleted by their position in the table (ctid): by id, the
 * database may choose to read the whole table. Rows that others have locked are left for the next round.
 */
function oldest(table: string, column: string, before: Date, limit: number): Sql {
  const [name, time] = [rawSql(table), rawSql(column)]
  return sql`ARRAY(
    SELECT ctid FROM ${name} WHERE ${time} <= ${before} ORDER BY ${time} LIMIT ${limit}::int FOR UPDATE SKIP LOCKED)`
}

/** Deletes the rows whose time in a column is older than a number of days. The column has an index. */
function makeTimeSweeper(db: PrismaClient, table: string, column: string, days: number): Table {
  return {
    table,
    async deleteBatch(ago, limit) {
      const rows = oldest(table, column, ago(days), limit)
      const count = await db.$executeRaw`DELETE FROM ${rawSql(table)} WHERE ctid = ANY (${rows})`
      return { count, isLast: count < limit }
    },
  }
}

/** Deletes device sessions with their logins, which say who approved the device. */
function makeDeviceSweeper(db: PrismaClient, column: string, days: number): Table {
  return {
    table: 'device_sessions',
    async deleteBatch(ago, limit) {
      const rows = oldest('device_sessions', column, ago(days), limit)
      const [swept] = await db.$queryRaw<{ count: number }[]>`
        WITH old AS (DELETE FROM device_sessions WHERE ctid = ANY (${rows}) RETURNING login_id),
          logins AS (DELETE FROM device_logins WHERE id IN (SELECT login_id FROM old))
        SELECT count(*)::int AS count FROM old`
      const count = swept?.count ?? 0
      return { count, isLast: count < limit }
    },
  }
}

const FIRST = new Date(0)

/**
 * Deletes expired logins without a session. Those with a session are deleted together with it, so each login is read
 * once: the sweeper continues behind the last one, or at the first one that was locked. Logins that expired at the same
 * time are in one batch, so that the index alone has their order. Ordered by a second column, each batch would read all
 * that are left.
 */
function makeLoginSweeper(db: PrismaClient, days: number): Table {
  let after = FIRST
  let retryAfter: Date | null = null
  return {
    table: 'device_logins',
    async deleteBatch(ago, limit) {
      const before = ago(days)
      // The clock was ahead and has been set back, so logins that are started now expire before those of then.
      if (after > before) after = FIRST
      const [page] = await db.$queryRaw<{ last: Date | null; size: number; due: number; count: number }[]>`
        WITH page AS (
            SELECT id, expires_at FROM device_logins
            WHERE expires_at > ${after}::timestamptz AND expires_at <= ${before}
            ORDER BY expires_at FETCH FIRST (${limit}::int) ROWS WITH TIES),
          due AS (SELECT id FROM page WHERE NOT EXISTS (SELECT 1 FROM device_sessions WHERE login_id = page.id)),
          old AS (SELECT id FROM device_logins WHERE id = ANY (ARRAY(SELECT id FROM due)) FOR UPDATE SKIP LOCKED),
          deleted AS (DELETE FROM device_logins WHERE id = ANY (ARRAY(SELECT id FROM old)) RETURNING id)
        SELECT (SELECT max(expires_at) FROM page) AS last,
          (SELECT count(*)::int FROM page) AS size, (SELECT count(*)::int FROM due) AS due,
          (SELECT count(*)::int FROM deleted) AS count`
      const { last = null, size = 0, due = 0, count = 0 } = page ?? {}
      if (count < due) retryAfter ??= after
      if (last) after = last
      const isLast = size < limit
      if (isLast && retryAfter) [after, retryAfter] = [retryAfter, null]
      return { count, isLast }
    },
  }
}

/**
 * Deletes old events. They are read in the order of their ids, which is nearly that of their times, so the time needs
 * no index, which would slow down every call. A gateway whose clock was ahead leaves young events in front of old ones.
 * So after a batch without an old event, the sweep skips some, and twice as many each time, until it finds old ones. At
 * most as many old events stay as there are young ones in front of them.
 */
function makeEventSweeper(db: PrismaClient, table: string, days: number): Table {
  const name = rawSql(table)
  let after = 0n
  let distance = 0n
  return {
    table,
    async deleteBatch(ago, limit) {
      const [page] = await db.$queryRaw<{ last: bigint | null; size: number; count: number }[]>`
        WITH page AS MATERIALIZED (
            SELECT id, ctid, at FROM ${name} WHERE id > ${after} ORDER BY id LIMIT ${limit}::int),
          deleted AS (
            DELETE FROM ${name} WHERE ctid = ANY (ARRAY(SELECT ctid FROM page WHERE at <= ${ago(days)})) RETURNING id)
        SELECT (SELECT max(id) FROM page) AS last, (SELECT count(*)::int FROM page) AS size,
          (SELECT count(*)::int FROM deleted) AS count`
      const { last = null, size = 0, count = 0 } = page ?? {}
      const isLast = size < limit
      distance = isLast || count > 0 ? 0n : 2n * distance || BigInt(limit)
      after = isLast ? 0n : (last ?? 0n) + distance
      return { count, isLast }
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
