import Pool from 'undici/lib/dispatcher/pool.js'
import { withoutBrackets } from '../../kernel/network/ip-address.ts'
import type { ModelCaps } from '../dialects/caps.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Json } from '../dialects/json/read-json.ts'
import type { Credential } from '../exchange/headers.ts'
import type { Condition } from './condition.ts'
import { makeConnector } from './connector.ts'
import type { ConnectSettings } from './connector.ts'
import type { KindTraits } from './kinds.ts'
import type { BackendKind } from './table.ts'
import type { ModelState } from './worker-state.ts'

/** A server that model calls are sent to. */
export type Backend = {
  readonly name: string
  readonly kind: BackendKind
  readonly traits: KindTraits
  /** Scheme, host and port of its URL. */
  readonly origin: string
  /** The path of its API: that of its URL, and then `/v1`, or the `basePath` that the directory has in its place. */
  readonly apiPath: string
  readonly credential: Credential | null
  /** Further headers of each request, by their names in lower case; null: none. */
  readonly headers: Readonly<Record<string, string>> | null
  readonly dialects: BackendDialects
  readonly health: BackendHealth
  /** What calls have found out about it. */
  readonly condition: Condition
  /** What its models can be asked in translated calls, where the directory says nothing of a model. */
  readonly caps: Partial<ModelCaps>
  /** Every token limit of a request is lowered to this; null: limits pass unchanged. */
  readonly maxTokens: number | null
  /** A call ends when the backend sends no byte for this long, or its caller takes none. */
  readonly idleTimeoutMs: number
  /** Connects when the first call needs it. */
  readonly pool: Pool
}

export type BackendDialects = {
  /** The dialects that it is known to support, without a probe. */
  readonly certain: readonly Dialect[]
  /** These, and those that probes have found. */
  known(): readonly Dialect[]
  /**
   * Whether a call in this dialect can be sent untranslated, as far as is known now. Never waits. `model` is the
   * model's name at the backend.
   */
  speaks(dialect: Dialect, call: { readonly model: string; readonly body: Json }): boolean
  /**
   * Called when the answer to a call in this dialect did not have the shape of the dialect: what was found out about
   * the backend's dialects may be out of date.
   */
  forget(dialect: Dialect): void
}

/** Whether a backend can serve a model. `model` is the model's name at the backend. */
export type BackendHealth = {
  /** The last known state; when it is old, a new one is fetched in the background. Null: not known yet. */
  lastKnown(model: string): ModelState | null
  /** The current state. Waits for a new answer when the last one is old. */
  check(model: string): Promise<ModelState>
  /** Fetches the state in the background now, for example because a call has failed. */
  recheck(): void
}

/** How connections to a backend are made, and how long they may be silent. */
export type PoolSettings = ConnectSettings & {
  /** The longest time without a byte, also before the first byte. */
  readonly idleTimeoutMs: number
}

/** Opens the connection pool of a backend at this URL. It connects when the first request needs it. */
export function openBackendPool(url: URL, { idleTimeoutMs, ...connect }: PoolSettings, basePath = '/v1') {
  const pool = new Pool(url.origin, {
    // No limit: a stream keeps its connection for minutes, so with a limit, calls would wait for each other.
    connections: null,
    pipelining: 1,
    allowH2: false,
    connect: makeConnector(url, connect),
    headersTimeout: idleTimeoutMs,
    bodyTimeout: idleTimeoutMs,
    // Shorter than the 5 s for which common servers keep an idle connection, so that no call is written to a
    // connection that the server is closing.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 600_000,
    keepAliveTimeoutThreshold: 2_000,
    maxHeaderSize: 64 * 1024,
    maxResponseSize: -1,
  })
  return { pool, origin: url.origin, apiPath: url.pathname.replace(/\/+$/, '') + basePath, idleTimeoutMs }
}

/** Makes a function that connects to a host, closes the connection at once, and says whether that worked. */
export function makeConnectProbe(url: URL, settings: ConnectSettings): () => Promise<boolean> {
  const connect = makeConnector(url, settings)
  const { hostname, host, protocol, port } = url
  const to = { hostname: withoutBrackets(hostname), host, protocol, port }
  return () =>
    new Promise((resolve) => {
      connect(to, (error, socket) => {
        socket?.destroy()
        resolve(error === null)
      })
    })
}

/** Aborts every call of a backend and closes its connections. */
export async function closeBackend({ pool, condition }: Pick<Backend, 'pool' | 'condition'>): Promise<void> {
  condition.close()
  await pool.destroy()
}
