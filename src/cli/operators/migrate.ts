import { resolve } from 'node:path'
import { ConfigError, readConfig } from '../../config.ts'
import { requireOwner } from '../../database/embedded/lock.ts'
import { openDatabase } from '../../database/open.ts'
import { openLog } from '../../log.ts'

/** `svc migrate`: applies the pending migrations and ends. Opening a database does that. */
export async function migrateDatabase(): Promise<void> {
  const { database, logLevel } = readConfig()
  if (!database) throw new ConfigError(['SVC_DATABASE_URL: names no database to migrate'])
  const directory = database.kind === 'embedded' ? resolve(database.directory) : null
  if (directory !== null) requireOwner(directory)
  const log = await openLog(logLevel)
  await (await openDatabase(database, log)).close()
  await log.close()
  process.stdout.write(`The database${directory === null ? '' : ` in ${directory}`} is up to date.\n`)
}
