import cluster from 'node:cluster'
import { flushCompileCache } from 'node:module'
import { ConfigError, readConfig, readConfigAgain, readFileSettings, warningsOf } from '../../config.ts'
import type { Config } from '../../config/values.ts'
import { systemClock } from '../../kernel/clock.ts'
import { openLog } from '../../log.ts'
import type { Log } from '../../log.ts'
import { reloadForParent, toldByParent } from '../../server/processes/child.ts'
import { findSharedFile } from '../../server/processes/shared-files.ts'
import type { Running } from '../../server/running.ts'
import { interrupted } from './interrupt.ts'
import { notifySystemd } from './notify-systemd.ts'

/**
 * `svc serve`: serves until a signal to stop, which also gives up a start. SIGHUP applies the directory file and the
 * price file again. When the embedded database crashes, it stops as after a signal and rejects with a
 * `DatabaseCrashError`, so that a supervisor starts the service again.
 */
export async function runService({ force = false }: { readonly force?: boolean }): Promise<void> {
  const toldToStop = cluster.isWorker ? toldByParent() : interrupted()
  const { config, rejected } = await readSettings()
  const log = await openLog(config.logLevel, cluster.isWorker ? process.pid : null)
  if (rejected) log.error({ err: rejected }, 'settings.rejected')
  // The service is loaded after the settings are read, so that a mistake in them shows at once.
  const serveHere = async () => {
    const { serve } = await import('../../server/serve.ts')
    const running = await serve(config, { clock: systemClock, log, forceDirectory: force })
    // A process that is killed later does not write what it has compiled. This blocks for some tenths of a second, so
    // signals must be handled before.
    setImmediate(flushCompileCache)
    return running
  }
  if (cluster.isWorker) return runChild(serveHere(), toldToStop, log)
  for (const warning of warningsOf(config)) log.warn({ warning }, 'settings.warning')
  const openProcesses = async () => {
    const fileSettings = readFileSettings()
    return (await import('../../server/processes/processes.ts')).openProcesses(config, fileSettings, log)
  }
  const starting = config.processes > 1 ? openProcesses() : serveHere()
  // Handled from the start: the default action of SIGHUP ends the process.
  process.on('SIGHUP', () => {
    // A failure is logged where it happens.
    starting.then((running) => running.reload()).catch(() => undefined)
  })
  const running = await startedBefore(toldToStop, starting)
  if (running && config.hasNotifySocket) notifySystemd(log)
  const reason = await Promise.race([toldToStop, ...(running && 'crashed' in running ? [running.crashed] : [])])
  if (reason instanceof Error) log.error({ err: reason }, 'database.crashed')
  else log.info({ signal: reason }, 'service.stopping')
  await running?.stop()
  await closeLog(log)
  if (reason instanceof Error) throw reason
}

/**
 * Reads the settings. When the file of one is refused, a process that replaces another one uses what the others use,
 * and `rejected` says why.
 */
async function readSettings(): Promise<{ readonly config: Config; readonly rejected: ConfigError | null }> {
  try {
    return { config: readConfig(), rejected: null }
  } catch (error) {
    if (!cluster.isWorker || !(error instanceof ConfigError)) throw error
    const shared = await findSharedFile('settings')
    if (shared === null) throw error
    return { config: readConfigAgain(shared), rejected: error }
  }
}

/** Resolves with null when the process is told to stop before it has started. */
function startedBefore<Started>(toldToStop: Promise<unknown>, starting: Promise<Started>): Promise<Started | null> {
  return Promise.race([starting, toldToStop.then(() => null)])
}

/** Serves as one of several processes, until the parent process tells it to stop. */
async function runChild(starting: Promise<Running>, toldToStop: Promise<unknown>, log: Log): Promise<void> {
  reloadForParent(starting)
  const running = await startedBefore(toldToStop, starting)
  await toldToStop
  await running?.stop()
  await closeLog(log)
  process.disconnect()
}

async function closeLog(log: Log): Promise<void> {
  // A pipe without a reader blocks the last write, and with it the exit of the process.
  if (!(await log.close())) process.kill(process.pid, 'SIGKILL')
}
