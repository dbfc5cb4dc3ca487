import type { Transaction } from '../../database/client.ts'

/** Switching the checks off makes the database plan its statements again, which costs more than checking fewer rows. */
const MIN_ROWS = 1000

/**
 * Adds rows without checks of their foreign keys where the database is an embedded one, which checks them row by row:
 * for 20,000 members in 1,000 teams with 100 models each, that is half of its time. `add` must only insert rows whose
 * references exist, because the same transaction has inserted or read what they refer to. No other transaction can
 * delete that meanwhile: an embedded database has one connection. `add` must delete nothing, because rows that refer
 * to a deleted row would stay.
 */
export async function withoutReferenceChecks(tx: Transaction, rows: number, add: () => Promise<void>): Promise<void> {
  if (rows < MIN_ROWS) return add()
  await tx.$queryRaw`
    SELECT set_config('session_replication_role', 'replica', true) FROM pg_stat_activity
    WHERE pid = pg_backend_pid() AND backend_type = 'standalone backend'`
  await add()
  // When `add` fails, the end of the transaction restores the setting.
  await tx.$queryRaw`
    SELECT set_config('session_replication_role', 'origin', true)
    WHERE current_setting('session_replication_role') = 'replica'`
}
