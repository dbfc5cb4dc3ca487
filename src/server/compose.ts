import type { Express } from 'express'
import type { Registry } from 'prom-client'
import type { Config } from '../config/values.ts'
import { openPrices } from '../gateway/prices/cost.ts'
import type { Prices } from '../gateway/prices/cost.ts'
import type { HttpApp } from '../http/app.ts'
import { readContract } from '../http/contract.ts'
import { makeApp } from './app.ts'
import { openStandaloneRoles } from './roles.ts'
import type { Resources, RoleNeeds, Roles } from './roles.ts'
import { addProcessMetrics, openMetrics } from './telemetry/metrics.ts'

export type Service = Omit<Roles, 'routes'> & {
  readonly app: Express
  /** Does what a start need not wait for, and what would make first requests slow. */
  prepare(): Promise<void>
  /** Makes `/readyz` say that the process is about to stop. */
  drain(): void
  /** Null when metrics are off. */
  readonly metrics: Registry | null
  /** Replaces the price list, for the next call. */
  applyPrices: Prices['replaceList']
}

/** Builds the service: the roles of the configuration behind one Express app. */
export async function compose(config: Config, resources: Resources): Promise<Service> {
  const { eventMetrics, log } = resources
  const metrics = eventMetrics && openMetrics(eventMetrics)
  const redis = config.redisUrl && (await import('./redis.ts')).openRedis(config.redisUrl, log)
  const prices = openPrices()
  // OpenTelemetry is loaded only where traces are on.
  const tracing = config.tracing && (await import('./telemetry/otlp-tracing.ts')).openOtlpTracing(config.tracing, log)
  const closeShared = async () => {
    redis?.disconnect()
    await tracing?.close()
  }
  try {
    const shared = { contract: readContract(), redis, metrics, tracer: tracing?.tracer ?? null }
    const { routes, ...roles } = await openRoles(config, resources, { ...shared, costOf: prices.costOf })
    const state = { isDraining: false }
    const http = makeApp(config, { ...resources, ...shared, roles: routes, isDraining: () => state.isDraining })
    return {
      ...roles,
      app: http.app,
      prepare: () => prepare(http, metrics),
      metrics,
      drain: () => void (state.isDraining = true),
      applyPrices: prices.replaceList,
      async close() {
        await roles.close()
        await closeShared()
      },
    }
  } catch (error) {
    await closeShared()
    throw error
  }
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
