import type { Config } from '../config/values.ts'
import { loadDatabase } from '../database/open.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../log.ts'
import { SERVER_TIMEOUTS } from './listener.ts'
import type { Running } from './running.ts'

type Given = {
  readonly clock: Clock
  readonly log: Log
  /** Apply the directory file even when it withdraws most of the members. */
  readonly forceDirectory?: boolean
}

/** Opens database and mailer, then listens. When a step fails, it closes everything again and rejects. */
export async function serve(config: Config, { clock, log, forceDirectory = false }: Given): Promise<Running> {
  const openDatabase = config.database && (await loadDatabase(config.database))
  // The database opens in its thread or on its server while this thread loads the rest of the service.
  const [database, { listen }] = await Promise.all([openDatabase?.(log) ?? null, loadService(config)])
  const mailer = config.mail && (await import('../mail.ts')).openMailer(config.mail, log)
  try {
    return await listen(config, { database, mailer, clock, log }, SERVER_TIMEOUTS, forceDirectory)
  } catch (error) {
    mailer?.close()
    await database?.close()
    throw error
  }
}

/** Loads what the process needs when its database is open. */
async function loadService({ role, database, directoryFile }: Config) {
  const [running] = await Promise.all([
    import('./running.ts'),
    database && import('./database-roles.ts'),
    database && role !== 'gateway' && import('../control/app.ts'),
    directoryFile && import('./files/directory-file.ts'),
  ])
  // The first request needs it, and this thread waits for the thread of the database now.
  if (database && database.kind !== 'postgres') await (await import('../http/validation/validator.ts')).loadLibrary()
  return running
}
