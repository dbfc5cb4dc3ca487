import cluster from 'node:cluster'
import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/values.ts'
import { makeMessageClasses } from '../http/message-classes.ts'
import type { Logger } from '../log.ts'
import { compose } from './compose.ts'
import type { Service } from './compose.ts'
import { describeService, findDirectoryWarnings } from './describe.ts'
import { applyFiles } from './files/apply-files.ts'
import type { AppliedFiles, Reload } from './files/apply-files.ts'
import { openHttpServer } from './http-server.ts'
import { listenOn } from './listener.ts'
import type { ServerTimeouts } from './listener.ts'
import { receiveConnections } from './processes/receive-connections.ts'
import type { Resources } from './roles.ts'
import { startManagement } from './start-management.ts'
import { serveMetrics, shareMetrics } from './telemetry/metrics.ts'
import type { MetricsListener } from './telemetry/metrics.ts'

/** A service that is listening. */
export type Running = {
  readonly port: number
  /** The port of the metrics listener; null when it is off. */
  readonly metricsPort: number | null
  readonly reload: Reload
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
  timeouts: ServerTimeouts,
  forceDirectory = false,
): Promise<Running> {
  const service = await compose(config, resources)
  try {
    const files = await applyFiles(config, service, resources, forceDirectory)
    return await start(config, resources, service, timeouts, files)
  } catch (error) {
    await service.close()
    throw error
  }
}

async function start(
  config: Config,
  { database, mailer, clock, log }: Resources,
  service: Service,
  timeouts: ServerTimeouts,
  { reload, settled }: AppliedFiles,
): Promise<Running> {
  const { drainSeconds, stopSeconds } = config.stop
  const counts = await service.countDirectory()
  const metrics = await startMetrics(config, service, log)
  const http = openHttpServer(service.app, timeouts, { messageClasses: makeMessageClasses(service.app), log })
  const management = await startManagement(config, { database, clock, log }, reload)
  // Opened last: once calls can arrive, a signal to stop must find a service that has started.
  const port = await openPort(http.server, config).catch(async (error: unknown) => {
    await Promise.all([management?.close(), metrics?.close()])
    throw error
  })
  const preparing = setTimeout(() => {
    service.prepare().catch((err: unknown) => log.error({ err }, 'service.prepare_failed'))
  }, PREPARE_AFTER_MS)
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
      // A reload that still runs would fail when the database is closed, and its file would count as refused.
      await settled()
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
