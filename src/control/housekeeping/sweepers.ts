import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { rawSql, sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import { LAST_SEEN_DAYS } from '../members/rules.ts'

type Ago = (days: number) => Date

/** Deletes one batch of old rows. `isLast`: none is left. */
type DeleteBatch = (ago: Ago, limit: number) => Promise<{ readonly count: number; readonly isLast: boolean }>

/** Deletes the old rows of a table. */
export type Sweeper = { readonly table: string; readonly deleteBatch: DeleteBatch }

/** How long rows are kept, for every table that has rows which are not needed any more. */
export function sweepersOf(db: PrismaClient, auditDays: number | null): readonly Sweeper[] {
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
function makeTimeSweeper(db: PrismaClient, table: string, column: string, days: number): Sweeper {
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
function makeDeviceSweeper(db: PrismaClient, column: string, days: number): Sweeper {
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
function makeLoginSweeper(db: PrismaClient, days: number): Sweeper {
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
function makeEventSweeper(db: PrismaClient, table: string, days: number): Sweeper {
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
