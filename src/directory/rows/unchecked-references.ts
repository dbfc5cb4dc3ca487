import type { Prisma } from '../../../generated/prisma/client.ts'

/** Switching the checks off makes the database plan its statements again, which costs more than checking fewer rows. */
const MIN_ROWS = 1000

/**
 * Adds rows without checks of their foreign keys where the database is an embedded one, which checks them row by row:
 * for 20,000 members in 1,000 teams with 100 models each, that is half of its time. `add` must only insert rows whose
 * references exist: rows of the same transaction, or that it has found there. Nothing else runs in an embedded database
 * meanwhile. Rows that are deleted would leave behind what references them.
 */
export async function withoutReferenceChecks(
  tx: Prisma.TransactionClient,
  rows: number,
  add: () => Promise<void>,
): Promise<void> {
  if (rows < MIN_ROWS) return add()
  await tx.$queryRaw`
    SELECT set_config('session_replication_role', 'replica', true) FROM pg_stat_activity
    WHERE pid = pg_backend_pid() AND backend_type = 'standalone backend'`
  await add()
  // A transaction that fails ends with the setting of before.
  await tx.$queryRaw`
    SELECT set_config('session_replication_role', 'origin', true)
    WHERE current_setting('session_replication_role') = 'replica'`
}
