import type { Secret } from '../../kernel/secret.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Credential } from '../exchange/headers.ts'
import { openBackendPool } from './backend.ts'
import type { Backend, BackendDialects, BackendHealth, Timeouts } from './backend.ts'
import { BACKEND_KINDS } from './kinds.ts'

export type UpstreamSettings = {
  readonly url: URL
  readonly bearer: Secret | null
  readonly apiKey: Secret | null
}

type Service = Pick<Backend, 'name' | 'credential'> & { readonly url: URL; readonly dialects: readonly Dialect[] }

/** A vendor's service. */
export function openUpstream({ name, url, credential, dialects }: Service, timeouts: Timeouts): Backend {
  return {
    name,
    kind: 'vendor',
    traits: BACKEND_KINDS.vendor,
    credential,
    dialects: fixedDialects(dialects),
    health: ASSUMED_READY,
    maxTokens: null,
    ...openBackendPool(url, timeouts),
  }
}

/** Dialects that are known from the configuration. */
export function fixedDialects(dialects: readonly Dialect[]): BackendDialects {
  return { certain: dialects, speaks: (dialect) => dialects.includes(dialect), forget: () => {} }
}

/** Vendors have nothing to ask that costs nothing. */
const ASSUMED_READY: BackendHealth = {
  lastKnown: () => 'ready',
  check: async () => 'ready',
  recheck: () => {},
}

/** A vendor that wants an API key gets only that: the bearer token may be meant for another vendor. */
export function toCredential({ bearer, apiKey }: UpstreamSettings): Credential | null {
  if (apiKey) return { as: 'x-api-key', secret: apiKey }
  return bearer && { as: 'bearer', secret: bearer }
}
