import { Prisma } from '../../../generated/prisma/client.ts'
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { addSeconds } from '../../kernel/clock.ts'

const DAY_SECONDS = 86_400

/** Bounds of the work of one round. */
const BATCHES = {
  /** Rows that one statement reads and deletes, so that each is short and other statements run in between. */
  rows: 1000,
  /** Statements for each table. 50,000 rows a minute are more than a busy gateway writes. */
  statements: 50,
}

/** When an embedded database reclaims space. */
const VACUUM_AFTER = {
  /** Deleted rows of a table. */
  rows: 10_000,
  /** Write-ahead log since the last checkpoint: it stays on the disk, and is replayed after a crash. */
  logBytes: 16 * 1024 * 1024,
}

export type HousekeepingStore = ReturnType<typeof makeHousekeepingStore>

/** What a round deleted, and the tables in which it failed. */
export type Swept = { readonly rows: number; readonly failures: readonly { table: string; err: unknown }[] }

type Ago = (days: number) => Date

/** Deletes one batch of old rows. `isLast`: there is nothing left to look at in this round. */
type DeleteBatch = (ago: Ago, limit: number) => Promise<{ readonly count: number; readonly isLast: boolean }>

type Table = { readonly table: string; readonly deleteBatch: DeleteBatch }

/** Rows that are not needed any more, and the space that they leave. The audit rows of what happened stay. */
export function makeHousekeepingStore(db: PrismaClient, vacuumAfter = VACUUM_AFTER, batches = BATCHES) {
  const tables = tablesOf(db)
  const deleted = new Map<string, number>()
  let isAlone: boolean | null = null

  async function sweepTable({ table, deleteBatch }: Table, ago: Ago): Promise<number> {
    let rows = 0
    for (let statements = 0; statements < batches.statements; statements++) {
      const { count, isLast } = await deleteBatch(ago, batches.rows)
      rows += count
      deleted.set(table, (deleted.get(table) ?? 0) + count)
      if (isLast) break
    }
    return rows
  }

  return {
    /**
     * Deletes expired challenges, logins and sessions that ended long ago, and old call events, a bounded number of
     * rows in each table. A table in which that fails, because it is locked or slow, does not keep the others from
     * being swept.
     */
    async sweep(now: Date): Promise<Swept> {
      const ago = (days: number) => addSeconds(now, -days * DAY_SECONDS)
      const failures: { table: string; err: unknown }[] = []
      let rows = 0
      for (const table of tables) {
        rows += await sweepTable(table, ago).catch((err: unknown) => {
          failures.push({ table: table.table, err })
          return 0
        })
      }
      return { rows, failures }
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

/** The tables in the order in which they are swept: sessions before the logins that they keep. */
function tablesOf(db: PrismaClient): readonly Table[] {
  const inPages = (table: string, isOld: (ago: Ago) => Prisma.Sql): Table => ({
    table,
    deleteBatch: makePageSweeper(db, table, isOld),
  })
  return [
    {
      table: 'webauthn_challenges',
      deleteBatch: (ago, limit) =>
        toBatch(limit, db.webauthnChallenge.deleteMany({ where: { expiresAt: { lte: ago(0) } }, limit })),
    },
    {
      table: 'sign_in_links',
      // Kept for a day, so that a link that is opened late says that it has expired.
      deleteBatch: (ago, limit) =>
        toBatch(limit, db.signInLink.deleteMany({ where: { expiresAt: { lte: ago(1) } }, limit })),
    },
    inPages('browser_sessions', (ago) => Prisma.sql`absolute_expires_at <= ${ago(7)} OR revoked_at <= ${ago(7)}`),
    inPages('device_sessions', (ago) => Prisma.sql`absolute_expires_at <= ${ago(30)} OR revoked_at <= ${ago(30)}`),
    inPages(
      'device_logins',
      // A login is kept as long as its session, because it says who approved the device.
      (ago) => Prisma.sql`
        expires_at <= ${ago(1)} AND NOT EXISTS (SELECT 1 FROM device_sessions WHERE login_id = device_logins.id)`,
    ),
    {
      // Kept for a quarter of a year.
      table: 'call_events',
      // The lowest ids are the oldest events, so there is no index on the time, which would slow down every call. The
      // rows are deleted by their place in the table (ctid), because by id the database may choose to read the whole
      // table.
      deleteBatch: async (ago, limit) => {
        const count = await db.$executeRaw`
          DELETE FROM call_events
          WHERE at <= ${ago(90)} AND ctid = ANY (ARRAY(SELECT ctid FROM call_events ORDER BY id LIMIT ${limit}::int))`
        return { count, isLast: count < limit }
      },
    },
    {
      // As long as its events.
      table: 'agent_sessions',
      deleteBatch: (ago, limit) =>
        toBatch(limit, db.agentSession.deleteMany({ where: { lastActiveAt: { lte: ago(90) } }, limit })),
    },
    {
      // No gateway retries a batch for a week.
      table: 'call_event_batches',
      deleteBatch: (ago, limit) =>
        toBatch(limit, db.callEventBatch.deleteMany({ where: { savedAt: { lte: ago(7) } }, limit })),
    },
  ]
}

async function toBatch(limit: number, deleting: Promise<{ count: number }>) {
  const { count } = await deleting
  return { count, isLast: count < limit }
}

/**
 * Makes a function that reads a table page by page, in the order of its ids, and deletes the old rows of a page. It
 * goes on where it stopped and starts again at the end, so that no statement reads more than a page, however many rows
 * are kept, and every old row is reached. Rows that others have locked are left for the next time.
 */
function makePageSweeper(db: PrismaClient, name: string, isOld: (ago: Ago) => Prisma.Sql): DeleteBatch {
  const table = Prisma.raw(name)
  let after = FIRST_ID
  return async (ago, limit) => {
    const [page] = await db.$queryRaw<{ last: string | null; size: number; count: number }[]>`
      WITH page AS (SELECT id FROM ${table} WHERE id > ${after}::uuid ORDER BY id LIMIT ${limit}::int),
        old AS (
          SELECT id FROM ${table} WHERE id IN (SELECT id FROM page) AND (${isOld(ago)}) FOR UPDATE SKIP LOCKED
        ),
        deleted AS (DELETE FROM ${table} WHERE id IN (SELECT id FROM old) RETURNING id)
      SELECT (SELECT id::text FROM page ORDER BY id DESC LIMIT 1) AS last, (SELECT count(*)::int FROM page) AS size,
        (SELECT count(*)::int FROM deleted) AS count`
    const isLast = !page || page.size < limit
    after = isLast ? FIRST_ID : (page.last ?? FIRST_ID)
    return { count: page?.count ?? 0, isLast }
  }
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000'

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
