import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/values.ts'
import { openDatabase } from '../database/open.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../log.ts'
import { openMailer } from '../mail.ts'
import { compose } from './compose.ts'
import type { Service } from './compose.ts'
import { applyDirectoryFile } from './directory-file.ts'
import type { Resources } from './roles.ts'
import { openHttpServer } from './http-server.ts'
import { listenOn, SERVER_TIMEOUTS } from './listener.ts'
import type { ServerTimeouts } from './listener.ts'
import { serveMetrics } from './metrics.ts'
import type { MetricsListener } from './metrics.ts'

/** A service that is listening. */
export type Running = {
  readonly port: number
  /** The port of the metrics listener; null when it is off. */
  readonly metricsPort: number | null
  /**
   * Applies the directory file again. An invalid file changes nothing, and the promise rejects with a
   * `DirectoryFileError`.
   */
  reloadDirectory(): Promise<void>
  /**
   * Drains for SVC_DRAIN_SECONDS, during which `/readyz` says 503 and all requests are served. Then closes the
   * listener, lets running calls end within SVC_STOP_SECONDS, and closes everything.
   */
  stop(): Promise<void>
}

type Given = {
  readonly clock: Clock
  readonly log: Log
  /** Apply the directory file even when it withdraws most of the members. */
  readonly forceDirectory?: boolean
}

/** Opens database and mailer, then listens. When a step fails, it closes everything again and rejects. */
export async function serve(config: Config, { clock, log, forceDirectory = false }: Given): Promise<Running> {
  const database = config.database && (await openDatabase(config.database, log))
  const mailer = config.mail && openMailer(config.mail, log)
  try {
    return await listen(config, { database, mailer, clock, log }, SERVER_TIMEOUTS, forceDirectory)
  } catch (error) {
    mailer?.close()
    await database?.close()
    throw error
  }
}

/** Listens with resources that are already open. Stopping closes them; when this rejects they stay open. */
export async function listen(
  config: Config,
  resources: Resources,
  timeouts: ServerTimeouts = SERVER_TIMEOUTS,
  forceDirectory = false,
): Promise<Running> {
  const service = await compose(config, resources)
  const { directoryFile: file } = config
  // A control plane calls no backend, so it need not have their credentials.
  const readSecret = config.role === 'control-plane' ? null : config.readSecret
  const applyDirectory = async (force: boolean) => {
    if (file) await applyDirectoryFile({ file, readSecret, service, force, log: resources.log })
  }
  try {
    await applyDirectory(forceDirectory)
    const running = await start(config, resources, service, timeouts)
    return { ...running, reloadDirectory: () => applyDirectory(false) }
  } catch (error) {
    await service.close()
    throw error
  }
}

async function start(
  config: Config,
  { database, mailer, log }: Resources,
  service: Service,
  timeouts: ServerTimeouts,
): Promise<Omit<Running, 'reloadDirectory'>> {
  const { drainSeconds, stopSeconds } = config.stop
  const metrics = await startMetrics(config, service)
  const http = openHttpServer(service.app, timeouts)
  const port = await listenOn(http.server, config.host, config.port, 'SVC_PORT').catch(async (error: unknown) => {
    await metrics?.close()
    throw error
  })
  log.info({ host: config.host, port, role: config.role }, 'service.listening')
  return {
    port,
    metricsPort: metrics?.port ?? null,
    async stop() {
      service.drain()
      http.drain()
      if (drainSeconds > 0) log.info({ seconds: drainSeconds }, 'service.draining')
      await sleep(drainSeconds * 1000)
      service.endStreams()
      await http.stop(stopSeconds * 1000, service.endCalls)
      await metrics?.close()
      await service.close()
      mailer?.close()
      await database?.close()
      log.info({}, 'service.stopped')
    },
  }
}

async function startMetrics({ host, metricsPort }: Config, { metrics }: Service): Promise<MetricsListener | null> {
  return metrics && serveMetrics(metrics, host, metricsPort ?? 0)
}
