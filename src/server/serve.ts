import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/values.ts'
import { DatabaseOpenError } from '../database/client.ts'
import { isDatabaseUnavailable } from '../database/errors.ts'
import { loadDatabase } from '../database/open.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../log.ts'
import { SERVER_TIMEOUTS } from './listener.ts'
import type { Running } from './running.ts'
import type { CountedLog } from './telemetry/metrics.ts'

type Given = {
  readonly clock: Clock
  readonly log: Log
  /** Apply the directory file even when it withdraws most of the members. */
  readonly forceDirectory?: boolean
}

/** How often a start tries to use a database that was lost after it was opened. */
const MAX_TRIES = 5

const RETRY_PAUSE_MS = 1000

/** Opens database and mailer, then listens. When a step fails, it closes everything again and rejects. */
export async function serve(config: Config, { clock, log: given, forceDirectory = false }: Given): Promise<Running> {
  const { log, eventMetrics } = await openCountedLog(config, given)
  const openDatabase = config.database && (await loadDatabase(config.database))
  // The database opens in its thread or on its server while this thread loads the rest of the service.
  const [database, { listen }] = await Promise.all([openDatabase?.(log) ?? null, loadService(config)])
  const mailer = config.mail && (await import('../mail.ts')).openMailer(config.mail, log)
  try {
    const start = () => listen(config, { database, mailer, clock, log, eventMetrics }, SERVER_TIMEOUTS, forceDirectory)
    return await (database ? retryWhileUnavailable(start) : start())
  } catch (error) {
    mailer?.close()
    await database?.close()
    throw error
  }
}

/** Counts the events of a log where metrics are on. Before all else, so that those of the database count too. */
export async function openCountedLog({ metricsPort }: Config, log: Log): Promise<CountedLog<Log>> {
  if (metricsPort === null) return { log, eventMetrics: null }
  return (await import('./telemetry/metrics.ts')).countEvents(log)
}

/** A start reads and writes the database after it was opened, and a failover or a busy machine may come in between. */
async function retryWhileUnavailable(start: () => Promise<Running>): Promise<Running> {
  for (let tries = 1; ; tries++) {
    try {
      return await start()
    } catch (cause) {
      if (!isDatabaseUnavailable(cause)) throw cause
      if (tries === MAX_TRIES) throw lostDuringStart(cause)
    }
    await sleep(RETRY_PAUSE_MS)
  }
}

function lostDuringStart(cause: unknown): DatabaseOpenError {
  const message = `The database was lost during the start: ${String(cause)}. Check the database of SVC_DATABASE_URL.`
  return new DatabaseOpenError(message, { cause })
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
