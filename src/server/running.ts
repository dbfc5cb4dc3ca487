import cluster from 'node:cluster'
import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/values.ts'
import { makeMessageClasses } from '../http/message-classes.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Logger } from '../log.ts'
import { compose } from './compose.ts'
import type { Service } from './compose.ts'
import { describeService, findDirectoryWarnings } from './describe.ts'
import { openHttpServer } from './http-server.ts'
import { listenOn, SERVER_TIMEOUTS } from './listener.ts'
import type { ServerTimeouts } from './listener.ts'
import { openManagement } from './management.ts'
import type { Management, ManagementActions } from './management.ts'
import { receiveConnections } from './processes/receive-connections.ts'
import type { Resources } from './roles.ts'
import { serveMetrics, shareMetrics } from './telemetry/metrics.ts'
import type { MetricsListener } from './telemetry/metrics.ts'

/** A service that is listening. */
export type Running = {
  readonly port: number
  /** The port of the metrics listener; null when it is off. */
  readonly metricsPort: number | null
  /**
   * Applies the directory file and the price file again, and resolves with a sentence for each that says what has
   * changed. A refused file changes nothing and does not keep the other from being applied; the log says why, and the
   * promise rejects with a `DirectoryFileError` or a `PricesFileError`. `force`: apply the directory file even when it
   * withdraws most of the members.
   */
  reload(force?: boolean): Promise<string>
  /** Resolves with the reason when the database cannot be used in this process again, so that it should stop. */
  readonly crashed: Promise<Error>
  /**
   * Drains for SVC_DRAIN_SECONDS, during which `/readyz` says 503 and all requests are served. Then closes the
   * listener, lets running calls end within SVC_STOP_SECONDS, and closes everything.
   */
  stop(): Promise<void>
}

/** Listens with resources that are already open. Stopping closes them; when this rejects they stay open. */
export async function listen(
  config: Config,
  resources: Resources,
  timeouts: ServerTimeouts = SERVER_TIMEOUTS,
  forceDirectory = false,
): Promise<Running> {
  const service = await compose(config, resources)
  const applyDirectory = makeApplyDirectory(config, service, resources.log)
  const applyPrices = makeApplyPrices(config, service, resources.log)
  try {
    await applyPrices()
    const reloadDirectory = (force = false) =>
      applyDirectory(force).catch((err: unknown) => {
        resources.log.error({ err }, 'directory.rejected')
        throw err
      })
    // The database has the directory that the processes before this one have applied.
    if (isLaterProcess() && resources.database) await reloadDirectory(forceDirectory).catch(ignoreRefusal)
    else await applyDirectory(forceDirectory)
    const reloadPrices = () =>
      applyPrices().catch((err: unknown) => {
        resources.log.error({ err }, 'prices.rejected')
        throw err
      })
    const reload = inOrder((force) => joinSentences([reloadDirectory(force), reloadPrices()]))
    return await start(config, resources, service, timeouts, reload)
  } catch (error) {
    await service.close()
    throw error
  }
}

/** Whether this is one of several processes, and not the first: that one ends when the file has a mistake. */
function isLaterProcess(): boolean {
  return (cluster.worker?.id ?? 1) > 1
}

/** Ignores that the directory file was refused, and throws any other error. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof OperatorError)) throw error
}

function makeApplyDirectory(config: Config, service: Service, log: Logger) {
  const { directoryFile: file } = config
  // A control plane calls no backend, so it need not have their credentials.
  const readSecret = config.role === 'control-plane' ? null : config.readSecret
  return async (force: boolean): Promise<string> => {
    if (!file) return 'SVC_DIRECTORY_FILE is not set, so there is no file to apply.'
    const { applyDirectoryFile } = await import('./files/directory-file.ts')
    return applyDirectoryFile({ file, readSecret, service, force, log })
  }
}

function makeApplyPrices({ role, pricesFile: file }: Config, service: Service, log: Logger) {
  // A control plane serves no calls.
  return async (): Promise<string> => {
    if (!file || role === 'control-plane') return ''
    const { applyPricesFile } = await import('./files/prices-file.ts')
    return applyPricesFile({ file, service, log })
  }
}

/** Begins a reload when the one before has ended, so that no file stays that was read before another one. */
function inOrder(run: Running['reload']): Running['reload'] {
  let last: Promise<unknown> = Promise.resolve()
  return (force) => {
    const next = last.then(() => run(force))
    last = next.catch(() => undefined)
    return next
  }
}

/** The sentences in one text. Waits for all of them, also when one of them fails, and then rejects. */
async function joinSentences(applying: readonly Promise<string>[]): Promise<string> {
  await Promise.allSettled(applying)
  return (await Promise.all(applying)).filter((sentence) => sentence !== '').join('\n')
}

async function start(
  config: Config,
  { database, mailer, log }: Resources,
  service: Service,
  timeouts: ServerTimeouts,
  reload: Running['reload'],
): Promise<Running> {
  const { drainSeconds, stopSeconds } = config.stop
  const metrics = await startMetrics(config, service, log)
  const http = openHttpServer(service.app, timeouts, { messageClasses: makeMessageClasses(service.app), log })
  const port = await openPort(http.server, config).catch(async (error: unknown) => {
    await metrics?.close()
    throw error
  })
  const management = await startManagement(config, { reload, database, log })
  const preparing = setTimeout(() => {
    service.prepare().catch((err: unknown) => log.error({ err }, 'service.prepare_failed'))
  }, PREPARE_AFTER_MS)
  const counts = await service.countDirectory()
  log.info({ host: config.host, port, ...describeService(config, counts) }, 'service.listening')
  for (const warning of findDirectoryWarnings(config, counts)) log.warn({ warning }, 'settings.warning')
  return {
    port,
    metricsPort: metrics?.port ?? null,
    reload,
    crashed: database ? database.crashed : new Promise(() => undefined),
    async stop() {
      clearTimeout(preparing)
      // A reload or a backup that is running may take longer than the drain.
      const managed = management?.close()
      service.drain()
      http.drain()
      if (drainSeconds > 0) log.info({ seconds: drainSeconds }, 'service.draining')
      await sleep(drainSeconds * 1000)
      service.endStreams()
      await http.stop(stopSeconds * 1000, service.endCalls)
      await managed
      await metrics?.close()
      await service.close()
      mailer?.close()
      await database?.close()
      log.info({}, 'service.stopped')
    },
  }
}

/** Resolves with the port. One of several processes gets its connections from the process above it. */
function openPort(server: Server, { host, port }: Config): Promise<number> {
  return cluster.isWorker ? receiveConnections(server) : listenOn(server, host, port, 'SVC_PORT')
}

/** Loading modules blocks this process for tens of milliseconds, so the first readiness checks are answered before. */
const PREPARE_AFTER_MS = 100

async function startMetrics(
  { host, metricsPort }: Config,
  { metrics }: Service,
  log: Logger,
): Promise<MetricsListener | null> {
  if (metrics && cluster.isWorker) shareMetrics(metrics, log)
  if (cluster.isWorker) return null
  return metrics && serveMetrics(metrics, host, metricsPort ?? 0, log)
}

/** The socket of operators' commands; null where none is configured. */
async function startManagement(
  { managementSocket: socket }: Config,
  { reload, database, log }: Pick<Resources, 'database' | 'log'> & Pick<Running, 'reload'>,
): Promise<Management | null> {
  // The process above several ones has the socket.
  if (socket === null || cluster.isWorker) return null
  const actions: ManagementActions = {
    reload: (options) => reload(options.has('force')),
    ...(database?.copyFiles && { backup: database.copyFiles }),
  }
  return openManagement(socket, actions, log)
}
