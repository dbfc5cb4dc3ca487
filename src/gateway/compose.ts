import type { Redis } from 'ioredis'
import type { Registry } from 'prom-client'
import type { LiveSessions } from '../access/live-sessions.ts'
import { openPublishedKeys } from '../access/published-keys.ts'
import { tokenCallers } from '../access/token-callers.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import type { Config } from '../config/values.ts'
import { isDatabaseUnavailable } from '../database/errors.ts'
import type { Database } from '../database/client.ts'
import type { Directory } from '../directory/rules.ts'
import { toSnapshot, snapshotCache } from '../directory/snapshot.ts'
import type { DirectorySnapshot, SnapshotTeam } from '../directory/snapshot.ts'
import { directoryStore } from '../directory/store.ts'
import { gatewayHandlers } from './app.ts'
import type { Gateway } from './app.ts'
import { limitRequests, streamSlots } from './limits.ts'
import { noteCalls } from './usage/events.ts'
import type { CallEvent } from './usage/events.ts'
import { callMetrics } from './usage/metrics.ts'
import { logCalls, openRecorder } from './usage/recorder.ts'
import { callEventStore } from './usage/store.ts'
import type { RoleRoutes } from '../http/app.ts'
import { securitySchemes } from '../http/authenticate.ts'
import type { Identify } from '../http/authenticate.ts'
import { callBody } from '../http/body.ts'
import { contractOf } from '../http/contract.ts'
import type { Contract } from '../http/contract.ts'
import { cors, GATEWAY_ACCESS } from '../http/cors.ts'
import { rateLimits } from '../http/rate-limit.ts'

type GatewayEdges = { readonly clock: Clock; readonly log: Logger }
type Edges = GatewayEdges & { readonly database: Database }

/** What a gateway knows of the rest of the deployment: from the database, or without one. */
export type GatewayBasis = {
  readonly identify: Identify
  readonly watchSession: LiveSessions['watch']
  readonly findTeam: (name: string) => SnapshotTeam | null | Promise<SnapshotTeam | null>
  /** Null: there is none. */
  readonly database: Database | null
  readonly record: (event: CallEvent) => void
  /** Makes this the directory; what it changes holds for the next call. */
  applyDirectory(directory: Directory): Promise<void>
  close(): Promise<void>
}

/** Callers and teams are the database's, and so are the events of calls. */
export function basisWithDatabase({ database, clock, log }: Edges, live: LiveSessions): GatewayBasis {
  const directory = directoryStore(database.prisma)
  const teams = snapshotCache({
    load: directory.loadSnapshot,
    clock,
    maxAgeMs: 5000,
    onFailure: (err) => log.warn({ err }, 'directory.unread'),
  })
  const recorder = openRecorder({ save: callEventStore(database.prisma).save, isDatabaseUnavailable, log })
  return {
    identify: live.identify,
    watchSession: live.watch,
    findTeam: teams.team,
    database,
    record: recorder.record,
    async applyDirectory(given) {
      await directory.applyDirectory(given, clock.now())
      await teams.reload()
    },
    close: recorder.close,
  }
}

/** Callers are who their tokens say, teams and models are the directory file's, and the events of calls go to the log. */
export async function basisWithoutDatabase(
  { baseUrl, verification }: Config,
  { clock, log }: GatewayEdges,
): Promise<GatewayBasis> {
  const { controlPlaneUrl, keysFile } = verification
  const keys = await openPublishedKeys({ controlPlaneUrl, file: keysFile, log })
  const callers = tokenCallers({ issuer: baseUrl, findPublicKey: keys.findPublicKey, clock })
  const startedAt = clock.now()
  let snapshot: DirectorySnapshot = new Map()
  return {
    identify: callers.identify,
    // Nobody tells of sessions that end; their tokens end by themselves.
    watchSession: () => () => undefined,
    findTeam: (name) => snapshot.get(name) ?? null,
    database: null,
    record: logCalls(log),
    async applyDirectory(given) {
      snapshot = toSnapshot(given, startedAt)
    },
    close: keys.close,
  }
}

type Parts = {
  /** The published document. */
  readonly contract: Contract
  readonly basis: GatewayBasis
  readonly gateway: Gateway
  /** Null: each process counts for itself. */
  readonly redis: Redis | null
  /** Null: nobody asks for numbers. */
  readonly metrics: Registry | null
}

/** The gateway, with all that its calls need. */
export function gatewayPart(config: Config, { clock, log }: GatewayEdges, parts: Parts): RoleRoutes {
  const { contract, basis, gateway, redis, metrics } = parts
  const { requestsPerMinute, streams: mostStreams } = config.callLimits
  const streams = streamSlots(mostStreams)
  const count = metrics && callMetrics(metrics, streams.open)
  const record = (event: CallEvent) => {
    count?.(event)
    basis.record(event)
  }
  const requests = rateLimits(redis)('calls', { points: requestsPerMinute, seconds: 60 })
  const own = contractOf(contract, 'gateway')
  return {
    contract: own,
    handlers: gatewayHandlers({
      ...gateway,
      findTeam: basis.findTeam,
      watchSession: basis.watchSession,
      noteCall: noteCalls({ clock, record }),
      streams,
      database: basis.database,
      clock,
      log,
    }),
    ...(requestsPerMinute > 0 && { limit: limitRequests(requests) }),
    schemes: securitySchemes({
      identifyBearer: basis.identify,
      identifyBrowser: null,
    }),
    parseBody: callBody(config.maxBodyBytes),
    nameAllMistakes: false,
    before: cors(own, config.allowedOrigins, GATEWAY_ACCESS),
  }
}
