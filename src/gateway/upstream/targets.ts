import { Pool } from 'undici'
import type { Secret } from '../../kernel/secret.ts'

/** Which upstream a group of routes goes to, and whether the prefix stays on the way. */
export const ROUTE_GROUPS = [
  { prefix: '/vendorb', upstream: 'vendorb', strips: true },
  { prefix: '/codex', upstream: 'vendorc', strips: true },
  { prefix: '/v1', upstream: 'vendora', strips: false },
] as const

export type RouteGroup = (typeof ROUTE_GROUPS)[number]
export type UpstreamName = RouteGroup['upstream']
export type TargetName = UpstreamName | 'local-engine'

/** A server that calls go to. */
export type Target = {
  readonly name: TargetName
  readonly origin: string
  /** The path of the configured URL, without a slash at its end; empty when it has none. */
  readonly prefix: string
  /** Sent as `Authorization: Bearer`. */
  readonly bearer: Secret | null
  /** Sent as `x-api-key`; the bearer then stays home. */
  readonly apiKey: Secret | null
  /** No byte from it, or none that its caller takes, for that long ends a call. */
  readonly idleTimeoutMs: number
  readonly pool: Pool
}

type Address = { readonly url: URL; readonly bearer: Secret | null; readonly apiKey: Secret | null }

type Timeouts = {
  readonly connectTimeoutMs: number
  /** No byte for that long, before the first one too. */
  readonly idleTimeoutMs: number
}

type Needs = Timeouts & { readonly upstreams: Readonly<Record<UpstreamName, Address | null>> }

export type Upstreams = Readonly<Record<UpstreamName, Target | null>>

/** The target of each route group that has an upstream. */
export function openUpstreams({ upstreams, ...timeouts }: Needs): Upstreams {
  const open = (name: UpstreamName): Target | null => {
    const address = upstreams[name]
    return address && openTarget(name, address, timeouts)
  }
  return { vendora: open('vendora'), vendorb: open('vendorb'), vendorc: open('vendorc') }
}

/** A target with connections of its own. It connects when the first call needs it. */
export function openTarget(name: TargetName, { url, bearer, apiKey }: Address, timeouts: Timeouts): Target {
  const prefix = url.pathname.replace(/\/+$/, '')
  const { idleTimeoutMs } = timeouts
  return { name, origin: url.origin, prefix, bearer, apiKey, idleTimeoutMs, pool: openPool(url.origin, timeouts) }
}

/** Breaks off every call of a target and closes its connections. */
export async function closeTarget({ pool }: Target): Promise<void> {
  await pool.destroy()
}

/** The group that a path of the contract belongs to. */
export function routeGroupOf(path: string): RouteGroup {
  const group = ROUTE_GROUPS.find(({ prefix }) => path.startsWith(`${prefix}/`))
  if (!group) throw new Error(`The path ${path} belongs to no route group.`)
  return group
}

/**
 * Where a call goes on its target: the path of the contract, without the group's prefix where the group strips it, behind the
 * target's own path, with the caller's query string as it came. Only the query is taken from the caller's URL, so no
 * spelling of it (absolute form, `..`, another case) reaches another route with the upstream's credential.
 */
export function targetPath({ prefix }: Pick<Target, 'prefix'>, path: string, callerUrl: string): string {
  const group = routeGroupOf(path)
  const query = callerUrl.indexOf('?')
  return prefix + (group.strips ? path.slice(group.prefix.length) : path) + (query === -1 ? '' : callerUrl.slice(query))
}

function openPool(origin: string, { connectTimeoutMs, idleTimeoutMs }: Timeouts): Pool {
  return new Pool(origin, {
    // A stream keeps its connection for minutes: with a limit, calls would wait for each other.
    connections: null,
    pipelining: 1,
    allowH2: false,
    connectTimeout: connectTimeoutMs,
    headersTimeout: idleTimeoutMs,
    bodyTimeout: idleTimeoutMs,
    // Shorter than common servers keep an idle connection (5 s), so that no call is written to one that is being closed.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 600_000,
    keepAliveTimeoutThreshold: 2_000,
    maxHeaderSize: 64 * 1024,
    maxResponseSize: -1,
  })
}
