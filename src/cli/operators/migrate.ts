import { ConfigError, readConfig } from '../../config.ts'
import { openDatabase } from '../../database/open.ts'

/** `svc migrate`: applies the pending migrations and ends. Opening a database does that. */
export async function migrateDatabase(): Promise<void> {
  const { database } = readConfig()
  if (!database) throw new ConfigError(['SVC_DATABASE_URL: names no database to migrate'])
  await (await openDatabase(database)).close()
  process.stdout.write('The database is up to date.\n')
}
