import type { Redis } from 'ioredis'
import type { Registry } from 'prom-client'
import type { Config } from '../config/values.ts'
import type { AdminBackendTrust } from '../directory/admin-backends.ts'
import { openRateLimits } from '../http/rate-limit.ts'
import type { RoleRoutes } from '../http/role.ts'
import { openBackends } from './backends/backends.ts'
import { makeCallHandlers } from './calls/handle.ts'
import type { CallNeeds } from './calls/handle.ts'
import { makeClientHandlers } from './clients/routes.ts'
import type { Deployment } from './deployment.ts'
import { makeEdge, openCallBudget } from './edge.ts'
import type { EdgeNeeds } from './edge.ts'
import { makeStreamKeepAlive } from './exchange/stream-keep-alive.ts'
import { toAddressRate } from './limits/requests.ts'
import { openStreamLeases } from './limits/stream-leases.ts'
import { makeStreamLimit } from './limits/streams.ts'
import { makeListHandlers } from './lists.ts'
import { makeFindTeam } from './models/rules.ts'
import { makeCallMetrics, makeSpendingMetrics } from './usage/metrics.ts'

type CallParts = Pick<CallNeeds, 'costOf' | 'tracer' | 'clock' | 'log'>
type BackendSettings =
  | 'upstreams'
  | 'encryptionKeys'
  | 'upstreamConnectTimeoutMs'
  | 'upstreamIdleTimeoutMs'
  | 'outboundProxy'
  | 'engine'
  | 'readSecret'

export type GatewayNeeds = CallParts &
  Pick<EdgeNeeds, 'contract'> & {
    readonly settings: EdgeNeeds['settings'] &
      Pick<Config, BackendSettings | 'baseUrl' | 'gatewayUrl' | 'tracedBackends'>
    readonly deployment: Deployment
    /** Null: backends of admins are not called. */
    readonly adminBackends: AdminBackendTrust | null
    /** Counts requests and streams for all processes. Null: each process counts its own. */
    readonly redis: Redis | null
    /** Null: metrics are off. */
    readonly metrics: Registry | null
    /** How long a rewritten stream may be silent before it is kept alive. */
    readonly keepAliveMs?: number
  }

export type Gateway = {
  /** Its operations, for the app. */
  readonly routes: RoleRoutes
  /** Aborts every call and closes every connection to a backend. */
  close(): Promise<void>
}

/** Proxies that close silent connections wait for a minute or longer. */
const KEEP_ALIVE_MS = 15_000

/** Opens the gateway: its backends and the handlers of its operations. Nothing connects before a call needs it. */
export function openGateway(needs: GatewayNeeds): Gateway {
  const {
    settings,
    contract,
    deployment,
    adminBackends,
    costOf,
    redis,
    metrics,
    tracer,
    keepAliveMs = KEEP_ALIVE_MS,
    clock,
    log,
  } = needs
  const backends = openBackends({
    upstreams: settings.upstreams,
    worker: settings.engine,
    readSecret: settings.readSecret,
    adminBackends,
    connectTimeoutMs: settings.upstreamConnectTimeoutMs,
    idleTimeoutMs: settings.upstreamIdleTimeoutMs,
    outboundProxy: settings.outboundProxy,
    clock,
    log,
  })
  deployment.watchDirectory(backends.apply)
  const openRateLimit = openRateLimits(redis)
  const leases = redis && openStreamLeases(redis)
  const { streams, accountStreams } = settings.callLimits
  const streamLimit = makeStreamLimit({ perCaller: accountStreams, perAddress: streams, leases })
  const countCall = metrics && makeCallMetrics(metrics, streamLimit.open)
  const findTeam = makeFindTeam(deployment.findTeam)
  const handlers = {
    ...makeListHandlers({ findTeam, backends, spending: deployment.spending }),
    ...makeClientHandlers({
      findTeam,
      addresses: settings,
      limit: openRateLimit('clients', toAddressRate(settings.callLimits)),
    }),
    ...makeCallHandlers({
      findTeam,
      streamLimit,
      answerBudget: openCallBudget(settings),
      backends,
      sealSecrets: settings.encryptionKeys ?? [],
      keepAlive: makeStreamKeepAlive(keepAliveMs),
      watchAccess: deployment.watchAccess,
      spending: deployment.spending,
      onSpendingRefused: metrics ? makeSpendingMetrics(metrics) : () => undefined,
      tracer,
      tracedBackends: settings.tracedBackends,
      costOf,
      recordEvent(event) {
        countCall?.(event)
        deployment.recordEvent(event)
      },
      clock,
      log,
    }),
  }
  const edge = makeEdge({ settings, contract, ...deployment, openRateLimit })
  return {
    routes: { ...edge, handlers },
    async close() {
      await backends.close()
      leases?.close()
    },
  }
}
