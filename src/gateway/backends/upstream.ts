import type { Secret } from '../../kernel/secret.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Credential } from '../exchange/headers.ts'
import { openBackendPool } from './backend.ts'
import type { Backend, BackendHealth, Timeouts } from './backend.ts'
import { BACKEND_KINDS } from './kinds.ts'
import { UPSTREAMS } from './table.ts'
import type { UpstreamName } from './table.ts'

export type UpstreamSettings = {
  readonly url: URL
  readonly bearer: Secret | null
  readonly apiKey: Secret | null
}

/** Opens a vendor's service at a configured URL. */
export function openUpstream(name: UpstreamName, settings: UpstreamSettings, timeouts: Timeouts): Backend {
  const dialects: readonly Dialect[] = UPSTREAMS[name].dialects
  return {
    name,
    kind: 'vendor',
    traits: BACKEND_KINDS.vendor,
    credential: toCredential(settings),
    dialects: { certain: dialects, speaks: (dialect) => dialects.includes(dialect), forget: () => {} },
    health: ASSUMED_READY,
    maxTokens: null,
    ...openBackendPool(settings.url, timeouts),
  }
}

/** Vendors count as ready, because they offer no free request that shows their state. */
const ASSUMED_READY: BackendHealth = {
  lastKnown: () => 'ready',
  check: async () => 'ready',
  recheck: () => {},
}

/** A configured API key is sent alone, because the bearer token may be meant for another vendor. */
function toCredential({ bearer, apiKey }: UpstreamSettings): Credential | null {
  if (apiKey) return { as: 'x-api-key', secret: apiKey }
  return bearer && { as: 'bearer', secret: bearer }
}
