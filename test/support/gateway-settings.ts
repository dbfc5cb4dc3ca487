import type { GatewayNeeds } from '../../src/gateway/app.ts'
import type { UpstreamSettings } from '../../src/gateway/backends/upstreams.ts'
import { UPSTREAM_NAMES } from '../../src/kernel/backend-name.ts'
import type { UpstreamName } from '../../src/kernel/backend-name.ts'
import type { OutboundProxy } from '../../src/kernel/network/outbound-proxy.ts'
import { Secret } from '../../src/kernel/secret.ts'
import type { TracedBackends } from '../../src/kernel/tracer.ts'

const BASE_URL = 'http://localhost:8787'

type Urls = Partial<Record<UpstreamName, URL>>

type Given = {
  readonly upstreams: Urls
  /** Undefined: there is no local worker. */
  readonly engine: URL | undefined
  readonly idleTimeoutMs: number
  readonly tracedBackends: TracedBackends
  readonly maxBodiesBytes: number | null
  readonly outboundProxy: OutboundProxy | null
  readonly encryptionKeys: GatewayNeeds['settings']['encryptionKeys']
}

/** The settings of a gateway with these backends and without limits. */
export function gatewaySettings(given: Given): GatewayNeeds['settings'] {
  const { upstreams, engine, idleTimeoutMs, tracedBackends, maxBodiesBytes, outboundProxy, encryptionKeys } = given
  return {
    baseUrl: BASE_URL,
    gatewayUrl: BASE_URL,
    upstreams: toSettings(upstreams),
    readSecret: ({ env }) =>
      env === 'UNSET' ? { mistake: 'is not set' } : { secret: new Secret(`secret-of-${env ?? ''}`) },
    upstreamConnectTimeoutMs: 2_000,
    upstreamIdleTimeoutMs: idleTimeoutMs,
    outboundProxy,
    encryptionKeys,
    engine: engine ? { url: engine, apiKey: null, maxTokens: 4096, idleTimeoutMs } : null,
    callLimits: { requestsPerMinute: 0, streams: 0, accountRequestsPerMinute: 0, accountStreams: 0 },
    maxBodyBytes: 32 * 1024 * 1024,
    maxBodiesBytes,
    processes: 1,
    allowedOrigins: [],
    tracedBackends,
  }
}

function toSettings(urls: Urls) {
  const settings = UPSTREAM_NAMES.map((name) => {
    const url = urls[name]
    return [name, url ? { url, bearer: new Secret('upstream-token'), apiKey: null } : null]
  })
  // One entry for each name.
  return Object.fromEntries(settings) as Record<UpstreamName, UpstreamSettings | null>
}
