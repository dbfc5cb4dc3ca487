import type { DatabaseConfig } from '../config/values.ts'
import type { Logger } from '../log.ts'
import type { Database } from './client.ts'
import { openEmbedded, openMemory, openPGlite } from './pglite.ts'
import { openPostgres } from './postgres.ts'

/**
 * Opens the database and migrates its schema to this version. A Postgres server that is still starting is given ten
 * seconds. Rejects with a `DatabaseOpenError`, a `DirectoryInUseError` or a `MigrationError`, and leaves nothing open
 * then.
 */
export async function openDatabase(config: DatabaseConfig, log: Logger | null = null): Promise<Database> {
  switch (config.kind) {
    case 'embedded':
      return openEmbedded(config.directory, log)
    case 'memory':
      return openPGlite(await openMemory())
    case 'postgres':
      return openPostgres(config.url, log)
  }
}
