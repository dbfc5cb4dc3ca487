import { Pool } from 'undici'
import type { Dialect } from '../dialects/dialect.ts'
import type { Credential } from '../exchange/headers.ts'
import type { KindTraits } from './kinds.ts'
import type { BackendKind } from './table.ts'
import type { ModelState } from './worker-state.ts'

/** A server that calls can go to. */
export type Backend = {
  readonly name: string
  readonly kind: BackendKind
  readonly traits: KindTraits
  /** The path of the configured URL, without a slash at the end; empty when there is none. */
  readonly prefix: string
  readonly credential: Credential | null
  readonly dialects: BackendDialects
  readonly health: BackendHealth
  /** Every token limit of a request is lowered to this; null: limits pass unchanged. */
  readonly maxTokens: number | null
  /** A call ends when the backend sends no byte for this long, or its caller takes none. */
  readonly idleTimeoutMs: number
  /** Connects when the first call needs it. */
  readonly pool: Pool
}

export type BackendDialects = {
  /** The dialects that it speaks in any case. */
  readonly certain: readonly Dialect[]
  /** Whether a call in this dialect can go there as it is, as far as is known. Never waits. */
  speaks(dialect: Dialect, call: DialectNeeds): boolean
  /**
   * The answer to a call in this dialect was no such answer: what was found out about the backend's dialects may be
   * wrong by now.
   */
  forget(dialect: Dialect): void
}

export type DialectNeeds = {
  /** The model's name there. */
  readonly model: string
  /** The request refers to what only the server that answered before can know. */
  readonly needsStoredState: boolean
}

/** Whether a backend can serve a model. The model's name is the one there. */
export type BackendHealth = {
  /** What is known now; asks again in the background when that is old. Null: nothing is known yet. */
  lastKnown(model: string): ModelState | null
  /** What is true now. */
  check(model: string): Promise<ModelState>
  /** A call has failed: asks at once, in the background. */
  recheck(): void
}

export type Timeouts = {
  readonly connectTimeoutMs: number
  /** No byte for this long, before the first one too. */
  readonly idleTimeoutMs: number
}

/** The connections of a backend at this URL. */
export function openConnections({ origin, pathname }: URL, { connectTimeoutMs, idleTimeoutMs }: Timeouts) {
  const pool = new Pool(origin, {
    // A stream keeps its connection for minutes: with a limit, calls would wait for each other.
    connections: null,
    pipelining: 1,
    allowH2: false,
    connectTimeout: connectTimeoutMs,
    headersTimeout: idleTimeoutMs,
    bodyTimeout: idleTimeoutMs,
    // Shorter than common servers keep an idle connection (5 s), so that no call is written to one that is being
    // closed.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 600_000,
    keepAliveTimeoutThreshold: 2_000,
    maxHeaderSize: 64 * 1024,
    maxResponseSize: -1,
  })
  return { pool, prefix: pathname.replace(/\/+$/, ''), idleTimeoutMs }
}

/** Breaks off every call of a backend and closes its connections. */
export async function closeBackend({ pool }: Pick<Backend, 'pool'>): Promise<void> {
  await pool.destroy()
}
