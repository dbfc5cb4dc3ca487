import { createServer } from 'node:http'
import { expect } from 'vitest'
import { makeNameTable } from '../../src/directory/aliases.ts'
import type { DirectoryBackend } from '../../src/directory/backends.ts'
import type { DirectorySnapshot } from '../../src/directory/snapshot.ts'
import { openGateway } from '../../src/gateway/app.ts'
import type { Deployment } from '../../src/gateway/deployment.ts'
import type { ModelTeam } from '../../src/gateway/models/rules.ts'
import { openPrices } from '../../src/gateway/prices/cost.ts'
import { NO_LEDGER } from '../../src/gateway/spending/ledger.ts'
import type { CallEvent } from '../../src/gateway/usage/events.ts'
import { readContract } from '../../src/http/contract.ts'
import type { UpstreamName } from '../../src/kernel/backend-name.ts'
import type { Caller } from '../../src/kernel/caller.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import type { EncryptionKey } from '../../src/kernel/credentials/cipher.ts'
import type { OutboundProxy } from '../../src/kernel/network/outbound-proxy.ts'
import type { TracedBackends, Tracer } from '../../src/kernel/tracer.ts'
import { makeApp } from '../../src/server/app.ts'
import { gatewaySettings } from './gateway-settings.ts'
import { closeHttpServer, listenOnLoopback } from './loopback.ts'

export const TOKEN = 'a-good-token'

type Init = Omit<RequestInit, 'headers'> & { readonly headers?: Record<string, string> }

export type TestGateway = Awaited<ReturnType<typeof startGateway>>

/** The caller's team. The directory has no other models than this team's. */
type KnownTeam = Omit<ModelTeam, 'names' | 'timeZone'>

type Given = Partial<Record<UpstreamName, URL>> & {
  readonly team?: Partial<KnownTeam>
  readonly engine?: URL
  /** The backends that the directory lists. */
  readonly backends?: readonly DirectoryBackend[]
  readonly idleTimeoutMs?: number
  readonly keepAliveMs?: number
  /** The caller's token. */
  readonly token?: string
  readonly tracer?: Tracer | null
  readonly tracedBackends?: TracedBackends
  readonly maxBodiesBytes?: number | null
  readonly outboundProxy?: OutboundProxy | null
  readonly encryptionKeys?: readonly [EncryptionKey] | null
}

/**
 * Starts the gateway alone, with the product's own composition, for one caller whose token is `TOKEN`. The test says
 * which teams, upstreams and engine there are. Dispose of it at the end.
 */
export async function startGateway({
  team = {},
  engine,
  backends = [],
  idleTimeoutMs = 10_000,
  keepAliveMs = 15_000,
  token: good = TOKEN,
  tracer = null,
  tracedBackends = 'local',
  maxBodiesBytes = null,
  outboundProxy = null,
  encryptionKeys = null,
  ...upstreams
}: Given = {}) {
  const watchers = new Set<() => void>()
  const lines: { fields: object; event: string }[] = []
  const note = (fields: object, event: string) => void lines.push({ fields, event })
  const events: CallEvent[] = []
  const log = { debug: note, info: note, warn: note, error: note }
  const known: { team: KnownTeam | null } = { team: { defaultModel: null, models: [], ...team } }
  const applyBackends: ((directory: DirectorySnapshot) => void)[] = []
  const directoryOf = (listed: readonly DirectoryBackend[]): DirectorySnapshot => ({
    teams: new Map(),
    backends: listed,
    adminBackends: [],
  })
  const deployment: Deployment = {
    identify: (token) => (token.reveal() === good ? CALLER : null),
    identifyKey: () => null,
    explainToken: async () => 'unknown',
    watchAccess(_sessionId, onEnd) {
      watchers.add(onEnd)
      return () => void watchers.delete(onEnd)
    },
    findTeam: () => known.team && { ...known.team, names: makeNameTable(known.team.models), timeZone: 'UTC' },
    watchDirectory(onDirectory) {
      applyBackends.push(onDirectory)
      onDirectory(directoryOf(backends))
    },
    spending: NO_LEDGER,
    recordEvent: (event) => void events.push(event),
    applyDirectory: async () => null,
    countDirectory: async () => null,
    close: async () => {},
  }
  const contract = readContract()
  const prices = openPrices()
  const given = { upstreams, engine, idleTimeoutMs, tracedBackends, maxBodiesBytes, outboundProxy, encryptionKeys }
  const settings = gatewaySettings(given)
  const gateway = openGateway({
    settings,
    contract,
    deployment,
    adminBackends: null,
    costOf: prices.costOf,
    redis: null,
    metrics: null,
    tracer,
    keepAliveMs,
    clock: systemClock,
    log,
  })
  const { app } = makeApp(
    {
      ...settings,
      role: 'all',
      verification: { controlPlaneUrl: settings.baseUrl },
      trustProxy: undefined,
      mail: null,
    },
    {
      roles: [gateway.routes],
      contract,
      database: null,
      redis: null,
      metrics: null,
      tracer,
      isDraining: () => false,
      clock: systemClock,
      log,
    },
  )
  const server = createServer(app)
  const url = `http://127.0.0.1:${await listenOnLoopback(server)}`
  return {
    url,
    log: lines,
    prices,
    /** The events of calls. */
    events,
    /** Waits for the end of the last call, and returns its event. */
    async ended() {
      await expect.poll(() => events.at(-1)?.result).toBeTruthy()
      const last = events.at(-1)
      if (!last) throw new Error('The call has no events.')
      return last
    },
    /** The caller's team; null: it no longer exists. May be replaced. */
    known,
    /** Replaces the backends that the directory lists. */
    applyBackends: (listed: readonly DirectoryBackend[]) =>
      applyBackends.forEach((onDirectory) => onDirectory(directoryOf(listed))),
    /** How many calls watch the caller's session. */
    watched: () => watchers.size,
    /** Ends the caller's session. */
    endSession: () => watchers.forEach((onEnd) => onEnd()),
    get: (path: string, init: Init = {}) =>
      fetch(url + path, { ...init, headers: { authorization: `Bearer ${TOKEN}`, ...init.headers } }),
    /** Posts JSON; a string is sent unchanged. */
    post: (path: string, body: unknown, init: Init = {}) =>
      fetch(url + path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...init,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...init.headers },
      }),
    /** Ends the calls that still run, as a stop of the service does. */
    stopCalls: gateway.close,
    async [Symbol.asyncDispose]() {
      await gateway.close()
      await closeHttpServer(server)
    },
  }
}

const CALLER: Caller = {
  accountId: 'account-1',
  sessionId: 'session-1',
  sessionKind: 'device',
  organization: 'acme',
  team: '@acme/core',
  role: 'member',
  authenticatedAt: null,
}
