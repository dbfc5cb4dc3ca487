import type { Config } from '../config/values.ts'
import { makeWriteControlError, writeForwardedError } from '../control/edge/write-error.ts'
import { makeOAuthForwarding } from '../control/oauth/forwarding.ts'
import { isDatabaseUnavailable } from '../database/errors.ts'
import { makeDocsHandlers } from '../docs/routes.ts'
import { createApp } from '../http/app.ts'
import type { HttpApp } from '../http/app.ts'
import { contractOf } from '../http/contract.ts'
import { makeFindPath } from '../http/find-path.ts'
import { openRateLimits } from '../http/rate-limit.ts'
import type { RoleRoutes } from '../http/role.ts'
import { makeRequestMetrics } from '../http/telemetry/request-metrics.ts'
import type { OnRequest } from '../http/telemetry/request-metrics.ts'
import { makeRequestTraces } from '../http/telemetry/request-traces.ts'
import { makeHealthHandlers } from './health.ts'
import type { Resources, RoleNeeds } from './roles.ts'

/** The settings that the app needs. */
type Settings = Pick<Config, 'role' | 'baseUrl' | 'gatewayUrl' | 'callLimits' | 'trustProxy' | 'mail'> & {
  readonly verification: Pick<Config['verification'], 'controlPlaneUrl'>
}

type Needs = Omit<RoleNeeds, 'costOf'> &
  Pick<Resources, 'database' | 'clock' | 'log'> & {
    /** The roles of this process. */
    readonly roles: readonly RoleRoutes[]
    /** Whether the process is about to stop. */
    readonly isDraining: () => boolean
  }

/** Makes the app of this process: its roles, each with the documents of the contract and the health checks. */
export function makeApp(settings: Settings, needs: Needs): HttpApp {
  const { roles, metrics, tracer, clock, log } = needs
  const { baseUrl, trustProxy } = settings
  const everywhere = makeSharedHandlers(settings, needs)
  const withShared = roles.map((role) => ({ ...role, handlers: { ...role.handlers, ...everywhere } }))
  return createApp({
    roles: [...withShared, ...makeForwarding(settings, needs)],
    elsewhere: findElsewhere(settings, needs),
    log,
    onRequest: eachOf([metrics && makeRequestMetrics(metrics), tracer && makeRequestTraces(tracer, clock)]),
    trustProxy,
    secure: isSecure(settings),
    isDatabaseUnavailable,
    writeErrorPage: chooseErrorPage(settings),
    loginRoutes: { deviceStart: `${baseUrl}/v1/auth/device/start`, page: `${baseUrl}/device` },
  })
}

/** The handlers of the operations that both roles have. */
function makeSharedHandlers(settings: Settings, { contract, database, redis, isDraining }: Needs) {
  const { role, baseUrl, gatewayUrl } = settings
  const limit = openRateLimits(redis)('documents', rateOf(settings))
  return {
    ...makeDocsHandlers({ contract, baseUrl, gatewayUrl, secure: isSecure(settings), limit }),
    ...makeHealthHandlers({ database, canServeAlone: role === 'gateway', isDraining }),
  }
}

/**
 * The OAuth routes of a process that serves only the gateway. Clients that sign in by themselves use the address of
 * their calls, so requests to these routes are forwarded to the control plane.
 */
function makeForwarding(settings: Settings, { contract, redis }: Needs): readonly RoleRoutes[] {
  const { role, baseUrl, gatewayUrl, verification } = settings
  if (role !== 'gateway') return []
  const { controlPlaneUrl } = verification
  const limit = openRateLimits(redis)('oauth-forwarding', rateOf(settings))
  return [makeOAuthForwarding({ contract, baseUrl, gatewayUrl, controlPlaneUrl, limit })]
}

/** The role that this process does not serve, where it has an address of its own. */
function findElsewhere({ role, baseUrl, gatewayUrl }: Settings, { contract }: Needs) {
  if (role === 'all' || baseUrl === gatewayUrl) return null
  const [other, url] = role === 'gateway' ? (['control-plane', baseUrl] as const) : (['gateway', gatewayUrl] as const)
  return { findPath: makeFindPath(contractOf(contract, other)), url }
}

/** A process that serves only the gateway has neither the pages nor their stylesheet. */
function chooseErrorPage({ role, mail }: Settings) {
  return role === 'gateway' ? writeForwardedError : makeWriteControlError({ hasEmail: mail !== null })
}

/** What needs no credential has the limit of model calls. */
function rateOf({ callLimits }: Settings) {
  return { points: callLimits.requestsPerMinute, seconds: 60, what: 'requests from your network' }
}

function isSecure({ baseUrl }: Settings): boolean {
  return baseUrl.startsWith('https://')
}

/** Calls each of those that are not null. */
function eachOf(given: readonly (OnRequest | null)[]): OnRequest {
  const called = given.filter((one) => one !== null)
  return (ended, req) => called.forEach((one) => one(ended, req))
}
