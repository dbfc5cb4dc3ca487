import type { DatabaseConfig } from '../config/values.ts'
import type { Logger } from '../log.ts'
import type { Database } from './client.ts'

/**
 * Opens the database and migrates its schema to this version. A Postgres server that is still starting is given ten
 * seconds. Rejects with a `DatabaseOpenError`, a `DirectoryInUseError` or a `MigrationError`, and leaves nothing open
 * then.
 */
export type OpenDatabase = (log: Logger | null) => Promise<Database>

/** Loads only the modules of the configured kind, which shortens the start. */
export async function loadDatabase(config: DatabaseConfig): Promise<OpenDatabase> {
  if (config.kind === 'postgres') {
    const { openPostgres } = await import('./postgres/postgres.ts')
    const { url, readUrl = () => url } = config
    return (log) => openPostgres(readUrl, log)
  }
  const { openEmbedded, openInMemory } = await import('./embedded/embedded.ts')
  return config.kind === 'embedded' ? (log) => openEmbedded(config.directory, log) : openInMemory
}

/** Loads the modules of the configured kind, and opens the database. */
export async function openDatabase(config: DatabaseConfig, log: Logger | null = null): Promise<Database> {
  return (await loadDatabase(config))(log)
}
