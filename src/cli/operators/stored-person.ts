import { resolve } from 'node:path'
import { ConfigError, readConfig } from '../../config.ts'
import type { DatabaseConfig } from '../../config/values.ts'
import { DirectoryInUseError } from '../../database/embedded/lock.ts'
import { systemClock } from '../../kernel/clock.ts'
import { toEmail } from '../../kernel/email.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { openLog } from '../../log.ts'
import { askService } from '../../server/management.ts'
import { actInDatabase } from '../../server/stored-person.ts'
import type { PersonActions } from '../../server/stored-person.ts'
import { requireData } from './backup.ts'
import { requireSocket } from './reload.ts'

/** `svc erase EMAIL`: erases a person who has left, whether the service runs or not. Prints what was removed. */
export const erasePerson = (address: string) => act('erase', address)

/** `svc export EMAIL`: prints what is stored of a person as JSON, whether the service runs or not. */
export const exportPerson = (address: string) => act('export', address)

async function act(action: keyof PersonActions, address: string): Promise<void> {
  const email = toEmail(address)
  if (email === null) throw new OperatorError(`${address} is not an email address.`)
  const { database, logLevel } = readConfig()
  // The log is on stdout too, and an export must be JSON only.
  const log = await openLog(action === 'export' ? 'silent' : logLevel)
  const needs = { database: requireStored(database), clock: systemClock, log }
  const answer = await actInDatabase(action, email, needs).catch((error: unknown) => {
    // The service has an embedded database for itself.
    if (!(error instanceof DirectoryInUseError)) throw error
    return askService(requireSocket(), action, { email })
  })
  await log.close()
  process.stdout.write(`${answer}\n`)
}

/** Throws where opening the database would make a new one. */
function requireStored(database: DatabaseConfig | null): DatabaseConfig {
  if (!database || database.kind === 'memory') {
    throw new ConfigError(['SVC_DATABASE_URL: names no database that is stored'])
  }
  if (database.kind === 'embedded') requireData(resolve(database.directory))
  return database
}
