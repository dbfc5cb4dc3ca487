import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { addSeconds } from '../../kernel/clock.ts'

const DAY_SECONDS = 86_400

/** How many rows one statement deletes, so that each is short and other statements run in between. */
const MAX_ROWS = 1000

/** How many statements a round runs for each kind. 50,000 rows a minute are more than a busy gateway writes. */
const MAX_STATEMENTS = 50

/** When an embedded database reclaims space. */
const VACUUM_AFTER = {
  /** Deleted rows of a table. */
  rows: 10_000,
  /** Write-ahead log since the last checkpoint: it stays on the disk, and is replayed after a crash. */
  logBytes: 16 * 1024 * 1024,
}

export type HousekeepingStore = ReturnType<typeof makeHousekeepingStore>

/** Deletes rows that are not needed any more, at most `limit`. */
type Delete = (ago: (days: number) => Date, limit: number) => Promise<{ count: number }>

/** Rows that are not needed any more, and the space that they leave. The audit rows of what happened stay. */
export function makeHousekeepingStore(db: PrismaClient, vacuumAfter = VACUUM_AFTER) {
  const kinds: readonly { readonly table: string; readonly deleteSome: Delete }[] = [
    {
      table: 'webauthn_challenges',
      deleteSome: (ago, limit) => db.webauthnChallenge.deleteMany({ where: { expiresAt: { lte: ago(0) } }, limit }),
    },
    {
      table: 'browser_sessions',
      deleteSome: (ago, limit) =>
        db.browserSession.deleteMany({
          where: { OR: [{ absoluteExpiresAt: { lte: ago(7) } }, { revokedAt: { lte: ago(7) } }] },
          limit,
        }),
    },
    {
      table: 'device_sessions',
      deleteSome: (ago, limit) =>
        db.deviceSession.deleteMany({
          where: { OR: [{ absoluteExpiresAt: { lte: ago(30) } }, { revokedAt: { lte: ago(30) } }] },
          limit,
        }),
    },
    {
      // A login is kept as long as its session, because it says who approved the device.
      table: 'device_logins',
      deleteSome: (ago, limit) =>
        db.deviceLogin.deleteMany({ where: { expiresAt: { lte: ago(1) }, deviceSession: { is: null } }, limit }),
    },
    {
      // Kept for a quarter of a year.
      table: 'call_events',
      // The lowest ids are the oldest events, so there is no index on the time, which would slow down every call. The
      // rows are deleted by their place in the table (ctid), because by id the database may choose to read the whole
      // table.
      deleteSome: async (ago, limit) => ({
        count: await db.$executeRaw`
          DELETE FROM call_events
          WHERE at <= ${ago(90)} AND ctid = ANY (ARRAY(SELECT ctid FROM call_events ORDER BY id LIMIT ${limit}::int))`,
      }),
    },
    {
      // No gateway retries a batch for a week.
      table: 'call_event_batches',
      deleteSome: (ago, limit) => db.callEventBatch.deleteMany({ where: { savedAt: { lte: ago(7) } }, limit }),
    },
  ]
  const deleted = new Map<string, number>()
  let isAlone: boolean | null = null

  return {
    /**
     * Deletes expired challenges, logins and sessions that ended long ago, and old call events. Returns how many rows.
     */
    async sweep(now: Date): Promise<number> {
      let swept = 0
      for (const { table, deleteSome } of kinds) {
        const rows = await deleteAll((limit) => deleteSome((days) => addSeconds(now, -days * DAY_SECONDS), limit))
        deleted.set(table, (deleted.get(table) ?? 0) + rows)
        swept += rows
      }
      return swept
    },

    /**
     * Reclaims space in an embedded database, which has no background processes as a Postgres server has. Without it
     * the space of deleted rows is never used again, and the write-ahead log grows until the process ends.
     */
    async vacuum(): Promise<void> {
      isAlone ??= await isStandalone(db)
      if (!isAlone) return
      for (const [table, rows] of deleted) {
        if (rows < vacuumAfter.rows) continue
        await db.$executeRawUnsafe(`VACUUM ${table}`)
        deleted.delete(table)
      }
      if ((await logBytes(db)) > vacuumAfter.logBytes) await db.$executeRaw`CHECKPOINT`
    },
  }
}

async function deleteAll(deleteSome: (limit: number) => Promise<{ count: number }>): Promise<number> {
  let rows = 0
  for (let statements = 0; statements < MAX_STATEMENTS; statements++) {
    const { count } = await deleteSome(MAX_ROWS)
    rows += count
    if (count < MAX_ROWS) break
  }
  return rows
}

/** Whether the database is a single process without background workers (PostgreSQL, `pg_stat_activity`). */
async function isStandalone(db: PrismaClient): Promise<boolean> {
  const [own] = await db.$queryRaw<{ type: string | null }[]>`
    SELECT backend_type AS type FROM pg_stat_activity WHERE pid = pg_backend_pid()`
  return own?.type === 'standalone backend'
}

/** The size of the write-ahead log since the last checkpoint. */
async function logBytes(db: PrismaClient): Promise<number> {
  const [log] = await db.$queryRaw<{ bytes: number }[]>`
    SELECT (pg_current_wal_insert_lsn() - redo_lsn)::float8 AS bytes FROM pg_control_checkpoint()`
  return log?.bytes ?? 0
}
