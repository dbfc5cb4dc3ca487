import { healthRoutes } from '../http/health.ts'
import type { Caller } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import { callRoutes } from './calls/routes.ts'
import { modelRoutes } from './models/routes.ts'
import type { ModelTeam } from './models/rules.ts'
import { openKeepAlive } from './upstream/keep-alive.ts'
import type { KeepAlive } from './upstream/keep-alive.ts'
import { closeTarget, openUpstreams } from './upstream/targets.ts'
import type { Upstreams } from './upstream/targets.ts'
import { openEngine } from './workers/engine.ts'
import type { Engine } from './workers/engine.ts'
import { workerRoutes } from './workers/routes.ts'

type Settings = {
  readonly upstreams: Parameters<typeof openUpstreams>[0]['upstreams']
  readonly upstreamConnectTimeoutMs: number
  readonly upstreamIdleTimeoutMs: number
  readonly engine: Parameters<typeof openEngine>[0]['engine']
  /** How long a stream of the worker may be silent before it is kept alive. */
  readonly keepAliveMs?: number
  readonly clock: Clock
  readonly log: Logger
}

/** What calls go out through. */
export type Gateway = {
  readonly upstreams: Upstreams
  readonly engine: Engine
  readonly keepAlive: KeepAlive
  /** Breaks off every call and closes every connection. */
  close(): Promise<void>
}

/** Proxies that close silent connections wait for a minute or longer. */
const KEEP_ALIVE_MS = 15_000

/** Opens the targets of the settings; connections are made when calls need them. */
export function openGateway(settings: Settings): Gateway {
  const { upstreamConnectTimeoutMs: connectTimeoutMs, upstreamIdleTimeoutMs: idleTimeoutMs, clock, log } = settings
  const upstreams = openUpstreams({ upstreams: settings.upstreams, connectTimeoutMs, idleTimeoutMs })
  const engine = openEngine({ engine: settings.engine, connectTimeoutMs, clock, log })
  return {
    upstreams,
    engine,
    keepAlive: openKeepAlive(settings.keepAliveMs ?? KEEP_ALIVE_MS),
    async close() {
      const targets = Object.values(upstreams).filter((target) => target !== null)
      await Promise.all([engine.close(), ...targets.map(closeTarget)])
    },
  }
}

type Needs = Omit<Parameters<typeof callRoutes>[0], 'teamOf'> &
  Parameters<typeof healthRoutes>[0] & {
    /** A team and the models of its allow-list, by `@organization/name`; null when there is no such team (any more). */
    readonly findTeam: (name: string) => Promise<ModelTeam | null> | ModelTeam | null
  }

/** The handlers of the gateway, by operation. */
export function gatewayHandlers({ findTeam, ...needs }: Needs) {
  const teamOf = ({ team }: Caller) => findTeam(team)
  return {
    ...healthRoutes(needs),
    ...callRoutes({ ...needs, teamOf }),
    ...modelRoutes({ teamOf }),
    ...workerRoutes({ ...needs, teamOf }),
  }
}
