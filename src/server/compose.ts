import type { Express } from 'express'
import type { Registry } from 'prom-client'
import type { Config } from '../config/values.ts'
import { makeOAuthForwarding } from '../control/oauth/forwarding.ts'
import { makeWriteControlError, writeForwardedError } from '../control/write-error.ts'
import { isDatabaseUnavailable } from '../database/errors.ts'
import { makeDocsHandlers } from '../docs/routes.ts'
import type { Deployment } from '../gateway/deployment.ts'
import { openPrices } from '../gateway/prices/cost.ts'
import type { Prices } from '../gateway/prices/cost.ts'
import { createApp } from '../http/app.ts'
import type { HttpApp } from '../http/app.ts'
import { readContract } from '../http/contract.ts'
import type { Contract } from '../http/contract.ts'
import { makeHealthHandlers } from '../http/health.ts'
import { openRateLimits } from '../http/rate-limit.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import { makeRequestMetrics } from '../http/telemetry/request-metrics.ts'
import type { OnRequest } from '../http/telemetry/request-metrics.ts'
import { makeRequestTraces } from '../http/telemetry/request-traces.ts'
import { openStandaloneRoles } from './roles.ts'
import type { Resources, RoleNeeds, Roles } from './roles.ts'
import { addProcessMetrics, countEvents, openMetrics } from './telemetry/metrics.ts'
import { openTracing } from './telemetry/tracing.ts'

export type Service = {
  readonly app: Express
  /** Does what a start need not wait for, and what would make first requests slow. */
  prepare(): Promise<void>
  /** Makes `/readyz` say that the process is about to stop. */
  drain(): void
  /** Ends the streams that would not end by themselves. */
  endStreams(): void
  /** Ends all running calls. Callers whose answer has begun are told in their dialect. */
  endCalls(): Promise<void>
  /** Null when metrics are off. */
  readonly metrics: Registry | null
  /** Replaces the directory, as a whole or not at all. */
  applyDirectory: Deployment['applyDirectory']
  /** Replaces the price list, for the next call. */
  applyPrices: Prices['replaceList']
  countDirectory: Deployment['countDirectory']
  close(): Promise<void>
}

/** Builds the service: the roles of the configuration behind one Express app. */
export async function compose(config: Config, given: Resources): Promise<Service> {
  const metrics = config.metricsPort === null ? null : openMetrics()
  const resources = metrics ? { ...given, log: countEvents(given.log, metrics) } : given
  const { log } = resources
  const contract = readContract()
  const secure = config.baseUrl.startsWith('https://')
  const redis = config.redisUrl && (await import('./redis.ts')).openRedis(config.redisUrl, log)
  const prices = openPrices()
  const tracing = await openTracing(config.tracing, log)
  const tracer = tracing?.tracer ?? null
  const roles = await openRoles(config, resources, { contract, redis, metrics, tracer, costOf: prices.costOf })
  // Public documents have the limit of model calls.
  const rate = { points: config.callLimits.requestsPerMinute, seconds: 60 }
  const documentLimit = openRateLimits(redis)('documents', rate)
  const state = { isDraining: false }
  const everywhere = {
    ...makeDocsHandlers({ contract, ...config, secure, limit: documentLimit }),
    ...makeHealthHandlers({
      database: resources.database,
      canServeAlone: config.role === 'gateway',
      isDraining: () => state.isDraining,
    }),
  }
  const forwarding = openForwarding(config, contract, openRateLimits(redis)('oauth-forwarding', rate))
  const http = createApp({
    roles: [...roles.routes.map((role) => ({ ...role, handlers: { ...role.handlers, ...everywhere } })), ...forwarding],
    log,
    onRequest: eachOf([metrics && makeRequestMetrics(metrics), tracer && makeRequestTraces(tracer, resources.clock)]),
    trustProxy: config.trustProxy,
    secure,
    isDatabaseUnavailable,
    // A gateway alone has neither the pages nor their stylesheet.
    writeErrorPage:
      config.role === 'gateway' ? writeForwardedError : makeWriteControlError({ hasEmail: config.mail !== null }),
    loginRoutes: { deviceStart: `${config.baseUrl}/v1/auth/device/start`, page: `${config.baseUrl}/device` },
  })
  return {
    app: http.app,
    prepare: () => prepare(http, metrics),
    metrics,
    drain: () => void (state.isDraining = true),
    endStreams: roles.endStreams,
    endCalls: roles.endCalls,
    applyDirectory: roles.applyDirectory,
    applyPrices: prices.replaceList,
    countDirectory: roles.countDirectory,
    async close() {
      await roles.close()
      redis?.disconnect()
      await tracing?.close()
    },
  }
}

/** A gateway alone forwards what clients that sign in by themselves send to the address of their calls. */
function openForwarding({ role, baseUrl, gatewayUrl, verification }: Config, contract: Contract, limit: RateLimit) {
  const { controlPlaneUrl } = verification
  return role === 'gateway' ? [makeOAuthForwarding({ contract, baseUrl, gatewayUrl, controlPlaneUrl, limit })] : []
}

async function prepare(http: HttpApp, metrics: Registry | null): Promise<void> {
  await http.prepare()
  if (metrics) await addProcessMetrics(metrics)
}

async function openRoles(config: Config, resources: Resources, needs: RoleNeeds): Promise<Roles> {
  const { database } = resources
  if (!database) return openStandaloneRoles(config, resources, needs)
  // Not loaded by a gateway without a database, whose start it would make half as long again.
  const { openDatabaseRoles } = await import('./database-roles.ts')
  return openDatabaseRoles(config, { ...resources, database }, needs)
}

/** Calls each of those that are not null. */
function eachOf(given: readonly (OnRequest | null)[]): OnRequest {
  const called = given.filter((one) => one !== null)
  return (ended, req) => called.forEach((one) => one(ended, req))
}
