import type { DatabaseConfig } from '../config/values.ts'
import { eraseAccount } from '../control/erasure/erase.ts'
import { openDatabase } from '../database/open.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'

/** Opens a database that this process may use, and erases a person there, as `eraseAccount` does. */
export async function eraseInDatabase(
  config: DatabaseConfig,
  email: string,
  clock: Clock,
  log: Logger,
): Promise<string> {
  const database = await openDatabase(config, log)
  try {
    return await eraseAccount(database, email, clock.now())
  } finally {
    await database.close()
  }
}
