import type { DatabaseConfig } from '../config/values.ts'
import type { Logger } from '../log.ts'
import type { Database } from './client.ts'

/**
 * Opens the database and migrates its schema to this version. A Postgres server that is still starting is given ten
 * seconds. Rejects with a `DatabaseOpenError`, a `DirectoryInUseError` or a `MigrationError`, and leaves nothing open
 * then. Only the modules of the chosen kind are loaded, which shortens the start.
 */
export async function openDatabase(config: DatabaseConfig, log: Logger | null = null): Promise<Database> {
  if (config.kind === 'postgres') {
    const { openPostgres } = await import('./postgres.ts')
    return openPostgres(config.url, log)
  }
  const { openEmbedded, openInMemory } = await import('./embedded.ts')
  return config.kind === 'embedded' ? openEmbedded(config.directory, log) : openInMemory()
}
