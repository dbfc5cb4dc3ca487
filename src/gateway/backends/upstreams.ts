import { UPSTREAM_NAMES } from '../../kernel/backend-name.ts'
import type { UpstreamName } from '../../kernel/backend-name.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { Credential } from '../exchange/headers.ts'
import type { Backend } from './backend.ts'
import { UPSTREAMS } from './table.ts'
import type { UpstreamRow } from './table.ts'
import { openVendor } from './vendor.ts'
import type { VendorNeeds } from './vendor.ts'

export type UpstreamSettings = {
  readonly url: URL
  readonly bearer: Secret | null
  readonly apiKey: Secret | null
}

/** The settings of each upstream; null: it is not configured. */
export type AllUpstreamSettings = Readonly<Record<UpstreamName, UpstreamSettings | null>>

/** Opens the upstreams that are configured. */
export function openUpstreams(upstreams: AllUpstreamSettings, needs: VendorNeeds): readonly Backend[] {
  return UPSTREAM_NAMES.flatMap((name) => {
    const settings = upstreams[name]
    if (!settings) return []
    const { dialects, caps }: UpstreamRow = UPSTREAMS[name]
    const { url } = settings
    return [openVendor({ name, url, credential: toCredential(settings), dialects, ...(caps && { caps }) }, needs)]
  })
}

/** A vendor that wants an API key gets only that: the bearer token may be meant for another vendor. */
export function toCredential({ bearer, apiKey }: UpstreamSettings): Credential | null {
  if (apiKey) return { as: 'x-api-key', secret: apiKey }
  return bearer && { as: 'bearer', secret: bearer }
}
