import type { Express } from 'express'
import type { Redis } from 'ioredis'
import type { Registry } from 'prom-client'
import { openKeyring } from '../access/keyring.ts'
import { liveSessions } from '../access/live-sessions.ts'
import { accessStore } from '../access/store.ts'
import type { Config } from '../config/values.ts'
import { makeControlPlane } from '../control/app.ts'
import { startHousekeeping } from '../control/housekeeping/start.ts'
import { makeHousekeepingStore } from '../control/housekeeping/store.ts'
import { makeNotifier } from '../control/notify.ts'
import { writeControlError } from '../control/write-error.ts'
import type { Database } from '../database/client.ts'
import { isDatabaseUnavailable } from '../database/errors.ts'
import type { Directory } from '../directory/rules.ts'
import { docsRoutes } from '../docs/routes.ts'
import { openGateway } from '../gateway/app.ts'
import { basisWithDatabase, basisWithoutDatabase, gatewayPart } from '../gateway/compose.ts'
import type { GatewayBasis } from '../gateway/compose.ts'
import { createApp } from '../http/app.ts'
import type { RoleRoutes } from '../http/app.ts'
import { readContract } from '../http/contract.ts'
import type { Contract } from '../http/contract.ts'
import { requestMetrics } from '../http/metrics.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import type { Mailer } from '../mail.ts'
import { countEvents, openMetrics } from './metrics.ts'
import { openRedis } from './redis.ts'

/** What the service needs of the outside world and what tests replace. */
export type Resources = {
  /** Null without a database, which only a gateway can do without. */
  readonly database: Database | null
  /** Null when email is not configured. */
  readonly mailer: Mailer | null
  readonly clock: Clock
  readonly log: Logger
}

export type Service = {
  readonly app: Express
  /** Null when metrics are off. */
  readonly metrics: Registry | null
  /** Replaces the directory, as a whole or not at all. */
  applyDirectory(directory: Directory): Promise<void>
  close(): Promise<void>
}

/** Builds the roles of the configuration, each with exactly what it needs. */
export async function compose(config: Config, given: Resources): Promise<Service> {
  const metrics = config.metricsPort === null ? null : openMetrics()
  const resources = metrics ? { ...given, log: countEvents(given.log, metrics) } : given
  const { clock, log } = resources
  const contract = readContract()
  const secure = config.baseUrl.startsWith('https://')
  const redis = config.redisUrl && openRedis(config.redisUrl, log)
  const gateway = openGateway({ ...config, clock, log })
  const shared = await openShared(config, resources, { contract, redis })

  const roles = [
    ...(config.role === 'control-plane'
      ? []
      : [gatewayPart(config, { clock, log }, { contract, basis: shared.basis, gateway, redis, metrics })]),
    ...(shared.controlPlane ? [shared.controlPlane] : []),
  ]
  const docs = docsRoutes({ contract, ...config, secure })
  const app = await createApp({
    roles: roles.map((role) => ({ ...role, handlers: { ...role.handlers, ...docs } })),
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
    applyDirectory: shared.basis.applyDirectory,
    async close() {
      // Ends all calls first, so that their events are recorded.
      await gateway.close()
      await shared.close()
      redis?.disconnect()
    },
  }
}

type Given = { readonly contract: Contract; readonly redis: Redis | null }

/** What the roles share, callers and directory, and the control plane where this process serves it. */
type Shared = {
  readonly basis: GatewayBasis
  readonly controlPlane: RoleRoutes | null
  readonly close: () => Promise<void>
}

async function openShared(config: Config, resources: Resources, given: Given): Promise<Shared> {
  const { database } = resources
  if (database) return openWithDatabase(config, { ...resources, database }, given)
  const basis = await basisWithoutDatabase(config, resources)
  return { basis, controlPlane: null, close: basis.close }
}

async function openWithDatabase(
  config: Config,
  resources: Resources & { readonly database: Database },
  given: Given,
): Promise<Shared> {
  const { database, mailer, clock, log } = resources
  const access = accessStore(database.prisma)
  const keys = await openKeyring(access, clock, config.tokens.accessTokenSeconds)
  const live = liveSessions({ issuer: config.baseUrl, findPublicKey: keys.findPublicKey, ...access, clock })
  const notify = makeNotifier({ mailer, baseUrl: config.baseUrl, log })
  const basis = basisWithDatabase({ database, clock, log }, live)
  const stopHousekeeping = startHousekeeping({
    rotateKeys: keys.rotate,
    store: makeHousekeepingStore(database.prisma),
    clock,
    log,
  })
  const needs = { settings: config, ...resources, ...given, access, keys, notify, onSessionEnd: live.end }
  return {
    basis,
    controlPlane: config.role === 'gateway' ? null : makeControlPlane(needs),
    async close() {
      live.close()
      await stopHousekeeping()
      await notify.settled()
      await basis.close()
    },
  }
}
