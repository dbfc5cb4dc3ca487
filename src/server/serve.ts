import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { Server, ServerOptions } from 'node:http'
import type { AddressInfo } from 'node:net'
import { compose } from './compose.ts'
import type { GatewayEdges, Service } from './compose.ts'
import type { Config } from '../config.ts'
import { openDatabase } from '../database/client.ts'
import { readDirectoryFile } from '../directory/rules.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../log.ts'
import { openMailer } from '../mail.ts'
import { serveMetrics } from './metrics.ts'
import type { Metrics } from './metrics.ts'

/** A service that answers. */
export type Running = {
  readonly port: number
  /** Of the listener for metrics; null: there is none. */
  readonly metricsPort: number | null
  /** Applies the directory file again; an invalid one changes nothing and throws a `DirectoryFileError`. */
  reloadDirectory(): Promise<void>
  /** Takes no new requests, lets those under way end for a while, then closes everything. */
  stop(): Promise<void>
}

/** A directory file with mistakes; the message has them all. */
export class DirectoryFileError extends Error {
  constructor(file: string, mistakes: readonly string[]) {
    super(`The directory file ${file} has mistakes:\n${mistakes.map((mistake) => `  ${mistake}`).join('\n')}`)
    this.name = 'DirectoryFileError'
  }
}

/** The service cannot listen where it was told to. */
export class AddressError extends Error {
  constructor(host: string, port: number, setting: 'SVC_PORT' | 'SVC_METRICS_PORT', code: string | undefined) {
    const cure = code === 'EADDRINUSE' ? `Something else does; set ${setting}.` : `Check SVC_HOST and ${setting}.`
    super(`Cannot listen on ${host}, port ${port} (${code}). ${cure}`)
    this.name = 'AddressError'
  }
}

/** How long the server waits for its callers, in milliseconds (Node's documentation, `http.createServer`). */
export type ServerTimeouts = Required<
  Pick<ServerOptions, 'headersTimeout' | 'requestTimeout' | 'connectionsCheckingInterval' | 'keepAliveTimeout'>
>

/** What callers may take when nothing else is said. */
export const SERVER_TIMEOUTS: ServerTimeouts = {
  // A caller has this long to send its headers, and its whole request; the server looks that often who is late.
  headersTimeout: 20_000,
  requestTimeout: 300_000,
  connectionsCheckingInterval: 30_000,
  keepAliveTimeout: 75_000,
}

/** How long requests under way may take to end after a signal to stop. */
const GRACE_MS = 10_000

/** Opens the edges, builds the service and listens. Rejects, with everything closed again, when any of it fails. */
export async function serve(config: Config, { clock, log }: { clock: Clock; log: Log }): Promise<Running> {
  const database = config.database && (await openDatabase(config.database))
  const mailer = config.mail && openMailer(config.mail, log)
  try {
    return await listen(config, { database, mailer, clock, log })
  } catch (error) {
    mailer?.close()
    await database?.close()
    throw error
  }
}

/** Serves with edges that are open already, and closes them when it stops; they stay open when it rejects. */
export async function listen(
  config: Config,
  edges: GatewayEdges,
  timeouts: ServerTimeouts = SERVER_TIMEOUTS,
): Promise<Running> {
  const service = await compose(config, edges)
  try {
    await applyDirectoryFile(config, service)
    return await start(config, edges, service, timeouts)
  } catch (error) {
    await service.close()
    throw error
  }
}

async function start(
  config: Config,
  edges: GatewayEdges,
  service: Service,
  timeouts: ServerTimeouts,
): Promise<Running> {
  const server = createServer(timeouts, service.app)
  await listening(server, config)
  const metrics = service.metrics && (await startMetrics(config, service.metrics, server))
  const { port } = server.address() as AddressInfo
  edges.log.info({ host: config.host, port, role: config.role }, 'service.listening')
  return {
    port,
    metricsPort: metrics?.port ?? null,
    reloadDirectory: () => applyDirectoryFile(config, service),
    async stop() {
      await closed(server)
      await metrics?.close()
      await service.close()
      edges.mailer?.close()
      await edges.database?.close()
      edges.log.info({}, 'service.stopped')
    },
  }
}

async function startMetrics({ host, metricsPort }: Config, metrics: Metrics, server: Server) {
  const port = metricsPort ?? 0
  return serveMetrics(metrics, host, port).catch((error: unknown) => {
    server.close()
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
    throw new AddressError(host, port, 'SVC_METRICS_PORT', code)
  })
}

/** So many may connect in one moment; Node's own 511 refuses some of a team whose agents all start at once. The kernel may allow fewer. */
const BACKLOG = 4096

async function applyDirectoryFile(config: Config, service: Service): Promise<void> {
  if (!config.directoryFile) return
  const file = config.directoryFile
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new DirectoryFileError(file, [`it cannot be read: ${error instanceof Error ? error.message : 'unknown'}`])
  })
  const read = readDirectoryFile(text)
  if ('mistakes' in read) throw new DirectoryFileError(file, read.mistakes)
  await service.applyDirectory(read.directory)
}

function listening(server: Server, { host, port }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(new AddressError(host, port, 'SVC_PORT', error.code)))
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.removeAllListeners('error')
      resolve()
    })
  })
}

/** Connections whose last answer ends only now become idle one by one; Node itself closes those that are idle at once, and waits for the others. */
function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const impatience = setInterval(() => server.closeIdleConnections(), 100)
    const patience = setTimeout(() => server.closeAllConnections(), GRACE_MS)
    server.close(() => {
      clearInterval(impatience)
      clearTimeout(patience)
      resolve()
    })
  })
}
