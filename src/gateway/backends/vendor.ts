import type { Clock } from '../../kernel/clock.ts'
import { random } from '../../kernel/random.ts'
import type { ModelCaps } from '../dialects/caps.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { makeConnectProbe, openBackendPool } from './backend.ts'
import type { Backend, BackendDialects, BackendHealth, PoolSettings } from './backend.ts'
import { openCondition } from './condition.ts'
import { BACKEND_KINDS } from './kinds.ts'

type Service = Pick<Backend, 'name' | 'credential'> & {
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly url: URL
  /** Absent: `/v1`. */
  readonly basePath?: string | undefined
  readonly dialects: readonly Dialect[]
  readonly caps?: Partial<ModelCaps>
}

export type VendorNeeds = PoolSettings & { readonly clock: Clock }

/** Opens a vendor: an upstream, or a backend of the directory. */
export function openVendor(service: Service, needs: VendorNeeds): Backend {
  const { name, url, basePath, credential, headers = {}, dialects, caps = {} } = service
  return {
    name,
    kind: 'vendor',
    traits: BACKEND_KINDS.vendor,
    credential,
    headers: Object.keys(headers).length > 0 ? headers : null,
    dialects: fixedDialects(dialects),
    health: ASSUMED_READY,
    condition: openCondition({ canConnect: makeConnectProbe(url, needs), random, clock: needs.clock }),
    caps,
    maxTokens: null,
    ...openBackendPool(url, needs, basePath),
  }
}

/** Dialects that are known from the configuration. */
export function fixedDialects(dialects: readonly Dialect[]): BackendDialects {
  return { certain: dialects, known: () => dialects, speaks: (dialect) => dialects.includes(dialect), forget: () => {} }
}

/** Vendors have no request that shows their state and costs nothing, so they count as ready. */
const ASSUMED_READY: BackendHealth = {
  lastKnown: () => 'ready',
  check: async () => 'ready',
  recheck: () => {},
}
