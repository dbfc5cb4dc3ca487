/** The backends and the route groups of this gateway, as data. */
import type { components } from '../../../generated/openapi.ts'
import type { Dialect } from '../dialects/dialect.ts'

/** Every backend that a call can go to, by the name in `x-svc-served-by`. */
export type BackendName = components['schemas']['ServedBy']

/** `vendor`: a service with models of its own. `engine`: an inference server of the operator. */
export type BackendKind = 'vendor' | 'engine'

/** The local worker: one inference server, on this machine or near it. */
export const WORKER_NAME = 'local-engine' as const satisfies BackendName

/** A backend whose URL and credential are settings of their own. */
export type UpstreamName = Exclude<BackendName, typeof WORKER_NAME>

/** The dialects that each upstream speaks. */
export const UPSTREAM_DIALECTS: Readonly<Record<UpstreamName, readonly Dialect[]>> = {
  vendora: ['chat', 'responses'],
  vendorb: ['messages'],
  vendorc: ['responses'],
}

type Group = {
  /** Of the paths in the contract. */
  readonly prefix: string
  /** Serves the group's calls of models for which the directory names no other backend. */
  readonly upstream: UpstreamName
  /** The prefix is no part of the path at the backend. */
  readonly isStripped: boolean
}

export const ROUTE_GROUPS = [
  { prefix: '/vendorb', upstream: 'vendorb', isStripped: true },
  { prefix: '/codex', upstream: 'vendorc', isStripped: true },
  { prefix: '/v1', upstream: 'vendora', isStripped: false },
] as const satisfies readonly Group[]

export type RouteGroup = (typeof ROUTE_GROUPS)[number]

/** A path of the contract that belongs to a route group. */
export type GroupedPath = `${RouteGroup['prefix']}/${string}`

/** The group that a path of the contract belongs to. */
export function routeGroupOf(path: GroupedPath): RouteGroup {
  const group = ROUTE_GROUPS.find(({ prefix }) => path.startsWith(`${prefix}/`))
  if (!group) throw new Error(`The path ${path} belongs to no route group.`)
  return group
}

/**
 * The path of a call at its backend: the path of the contract, without the group's prefix where that is stripped,
 * behind the path of the backend's URL, with the caller's query string unchanged. Only the query is taken from the
 * caller's URL. So no spelling of that URL (absolute form, `..`, upper case) reaches another route with the service's
 * credential.
 */
export function toBackendPath(backendPrefix: string, path: GroupedPath, callerUrl: string): string {
  const { prefix, isStripped } = routeGroupOf(path)
  const query = callerUrl.indexOf('?')
  return backendPrefix + (isStripped ? path.slice(prefix.length) : path) + (query === -1 ? '' : callerUrl.slice(query))
}
