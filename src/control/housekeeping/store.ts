import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { addSeconds } from '../../kernel/clock.ts'

const DAY_SECONDS = 86_400

/** A statement deletes at most so many rows, so that none of them takes long and others get their turn in between. */
const MOST_ROWS = 1000

/** Of each kind in one round; what is left is the next round's. Some 800 rows a second are more than a busy gateway writes. */
const MOST_STATEMENTS = 50

/** When an embedded database is tidied. */
const TIDY = {
  /** So many deleted rows of a table are worth the look for their space. */
  rows: 10_000,
  /** So much has to be read again after a crash, and is kept until then. */
  logBytes: 16 * 1024 * 1024,
}

export type HousekeepingStore = ReturnType<typeof housekeepingStore>

/** Deletes at most so many rows that nobody will ask for again. */
type Delete = (ago: (days: number) => Date, limit: number) => Promise<{ count: number }>

/** Rows that nobody will ask for again, and the space that they leave. What happened stays written in the audit. */
export function housekeepingStore(db: PrismaClient, tidyAfter = TIDY) {
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
      // A login goes after its session: it says who let the device in.
      table: 'device_logins',
      deleteSome: (ago, limit) =>
        db.deviceLogin.deleteMany({ where: { expiresAt: { lte: ago(1) }, deviceSession: { is: null } }, limit }),
    },
    {
      // Enough to look back at a quarter.
      table: 'call_events',
      // The first ids are the oldest events, so no index on the time is needed, which each call would have to pay for. By the place of the
      // rows: the database goes straight there, where it may read the whole table to find so many ids.
      deleteSome: async (ago, limit) => ({
        count: await db.$executeRaw`
          DELETE FROM call_events
          WHERE at <= ${ago(90)} AND ctid = ANY (ARRAY(SELECT ctid FROM call_events ORDER BY id LIMIT ${limit}::int))`,
      }),
    },
    {
      // No gateway tries again for so long.
      table: 'call_event_batches',
      deleteSome: (ago, limit) => db.callEventBatch.deleteMany({ where: { savedAt: { lte: ago(7) } }, limit }),
    },
  ]
  const deleted = new Map<string, number>()
  let alone: boolean | null = null

  return {
    /** Deletes challenges whose time is over, logins and sessions that ended long ago, and old events of calls. How many rows went. */
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
     * Does what other processes of a Postgres server do and an embedded database has nobody for: without it the space of deleted
     * rows is never used again, and its write-ahead log grows until the process ends.
     */
    async tidy(): Promise<void> {
      alone ??= await isAlone(db)
      if (!alone) return
      for (const [table, rows] of deleted) {
        if (rows < tidyAfter.rows) continue
        await db.$executeRawUnsafe(`VACUUM ${table}`)
        deleted.delete(table)
      }
      if ((await logBytes(db)) > tidyAfter.logBytes) await db.$executeRaw`CHECKPOINT`
    },
  }
}

async function deleteAll(deleteSome: (limit: number) => Promise<{ count: number }>): Promise<number> {
  let rows = 0
  for (let statements = 0; statements < MOST_STATEMENTS; statements++) {
    const { count } = await deleteSome(MOST_ROWS)
    rows += count
    if (count < MOST_ROWS) break
  }
  return rows
}

/** Whether this database has no process but the one that asks; such a one says so of itself (PostgreSQL, `pg_stat_activity`). */
async function isAlone(db: PrismaClient): Promise<boolean> {
  const [own] = await db.$queryRaw<{ type: string | null }[]>`
    SELECT backend_type AS type FROM pg_stat_activity WHERE pid = pg_backend_pid()`
  return own?.type === 'standalone backend'
}

/** What has been written since the last checkpoint. */
async function logBytes(db: PrismaClient): Promise<number> {
  const [log] = await db.$queryRaw<{ bytes: number }[]>`
    SELECT (pg_current_wal_insert_lsn() - redo_lsn)::float8 AS bytes FROM pg_control_checkpoint()`
  return log?.bytes ?? 0
}
