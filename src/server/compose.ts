import type { Express } from 'express'
import { Redis } from 'ioredis'
import { openKeyring } from '../access/keyring.ts'
import { liveSessions } from '../access/live-sessions.ts'
import { accessStore } from '../access/store.ts'
import { makeControlPlane } from '../control/app.ts'
import { openDatabaseDeployment, openStandaloneDeployment } from '../gateway/deployment.ts'
import type { Deployment } from '../gateway/deployment.ts'
import type { Config } from '../config.ts'
import { startHousekeeping } from '../control/housekeeping/start.ts'
import { makeHousekeepingStore } from '../control/housekeeping/store.ts'
import { makeNotifier } from '../control/notify.ts'
import { writeControlError } from '../control/write-error.ts'
import { isDatabaseUnavailable } from '../database/client.ts'
import type { Database } from '../database/client.ts'
import type { Directory } from '../directory/rules.ts'
import { openGateway } from '../gateway/app.ts'
import { docsRoutes } from '../docs/routes.ts'
import { createApp } from '../http/app.ts'
import { readContract } from '../http/contract.ts'
import type { Contract } from '../http/contract.ts'
import type { Part } from '../http/app.ts'
import { requestMetrics } from '../http/metrics.ts'
import { rateLimits } from '../http/rate-limit.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Secret } from '../kernel/secret.ts'
import type { Logger } from '../log.ts'
import type { Mailer } from '../mail.ts'
import { countEvents, openMetrics } from './metrics.ts'
import type { Metrics } from './metrics.ts'

/** What a process cannot replay; tests bring their own. */
export type Edges = {
  readonly database: Database
  /** Null: mail is not configured. */
  readonly mailer: Mailer | null
  readonly clock: Clock
  readonly log: Logger
}

/** A gateway alone may do without a database; nothing of the control plane can be built from these. */
export type GatewayEdges = Omit<Edges, 'database'> & { readonly database: Database | null }

export type Service = {
  readonly app: Express
  /** Null: nobody asks for numbers. */
  readonly metrics: Metrics | null
  /** Makes this the directory, as a whole or not at all. */
  applyDirectory(directory: Directory): Promise<void>
  close(): Promise<void>
}

/** Builds everything once and hands each part only what it needs. */
export async function compose(config: Config, given: GatewayEdges): Promise<Service> {
  const metrics = config.metricsPort === null ? null : openMetrics()
  const edges = metrics ? { ...given, log: countEvents(given.log, metrics) } : given
  const { clock, log } = edges
  const redis = config.redisUrl && openRedis(config.redisUrl, log)
  const { deployment, control, close } = hasDatabase(edges)
    ? await composeWithDatabase(config, edges, redis)
    : await composeWithoutDatabase(config, edges)

  const secure = config.baseUrl.startsWith('https://')
  const contract = readContract()
  const docs = docsRoutes({ contract, ...config, secure })
  const openRateLimit = rateLimits(redis)
  const gateway =
    config.role === 'control-plane'
      ? null
      : openGateway({ settings: config, contract, deployment, openRateLimit, metrics, clock, log })
  const app = await createApp({
    parts: [
      ...(gateway ? [gateway.part] : []),
      ...(config.role === 'gateway' ? [] : [control(contract)]),
    ].map((part) => ({ ...part, handlers: { ...part.handlers, ...docs } })),
    log,
    ...(metrics && { onRequest: requestMetrics(metrics) }),
    trustProxy: config.trustProxy,
    secure,
    isDatabaseUnavailable,
    writeErrorPage: writeControlError,
    loginRoutes: { deviceStart: `${config.baseUrl}/v1/auth/device/start`, page: `${config.baseUrl}/device` },
  })
  return {
    app,
    metrics,
    applyDirectory: deployment.applyDirectory,
    async close() {
      await gateway?.close()
      // The calls that this broke off are told of first.
      await close()
      redis?.disconnect()
    },
  }
}

type Composed = {
  readonly deployment: Deployment
  /** Builds the control plane. */
  readonly control: (contract: Contract) => Part
  readonly close: () => Promise<void>
}

async function composeWithDatabase(config: Config, edges: Edges, redis: Redis | null): Promise<Composed> {
  const { database, mailer, clock, log } = edges
  const access = accessStore(database.prisma)
  const keys = await openKeyring(access, clock, config.tokens.accessTokenSeconds)
  const live = liveSessions({ issuer: config.baseUrl, findPublicKey: keys.findPublicKey, ...access, clock })
  const notify = makeNotifier({ mailer, baseUrl: config.baseUrl, log })
  const deployment = openDatabaseDeployment({ database, live, clock, log })
  const store = makeHousekeepingStore(database.prisma)
  const stopHousekeeping = startHousekeeping({ rotateKeys: keys.turn, store, clock, log })
  return {
    deployment,
    control: (contract) =>
      makeControlPlane({
        settings: config,
        contract,
        ...edges,
        redis,
        access,
        keys,
        notify,
        onSessionEnd: live.end,
      }),
    async close() {
      live.close()
      await stopHousekeeping()
      await notify.settled()
      await deployment.close()
    },
  }
}

async function composeWithoutDatabase(config: Config, edges: GatewayEdges): Promise<Composed> {
  const deployment = await openStandaloneDeployment({ ...config, clock: edges.clock, log: edges.log })
  const control = () => {
    throw new Error('The control plane needs a database.')
  }
  return { deployment, control, close: deployment.close }
}

function hasDatabase(edges: GatewayEdges): edges is Edges {
  return edges.database !== null
}

/** Commands fail at once while Redis is away; what needs them has another way. */
function openRedis(url: Secret, log: Logger): Redis {
  const redis = new Redis(url.reveal(), {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    connectTimeout: 2000,
    commandTimeout: 500,
  })
  // Without a listener, one that is away would end the process. It says so when it comes and goes, not at each try.
  let isAway = false
  redis.on('error', (error) => {
    if (!isAway) log.warn({ reason: error.message }, 'redis.away')
    isAway = true
  })
  redis.on('ready', () => {
    log.info({}, 'redis.ready')
    isAway = false
  })
  return redis
}
