/** The route groups of this gateway, and the upstreams that serve them, as a table. */
import { UPSTREAM_NAMES } from '../../kernel/backend-name.ts'
import type { UpstreamName } from '../../kernel/backend-name.ts'
import type { Dialect } from '../dialects/dialect.ts'

/** `vendor`: a service with models of its own. `engine`: an inference server of the operator. */
export type BackendKind = 'vendor' | 'engine'

type UpstreamRow = {
  /** Of the paths in the contract whose calls go there, unless the directory names other backends for the model. */
  readonly prefix: `/${string}`
  /** The prefix is not part of the path at the upstream. */
  readonly isPrefixStripped: boolean
  readonly dialects: readonly Dialect[]
}

/** A row for each upstream: its route group, and the dialects that it speaks. */
export const UPSTREAMS = {
  vendora: { prefix: '/v1', isPrefixStripped: false, dialects: ['chat', 'responses'] },
  vendorb: { prefix: '/vendorb', isPrefixStripped: true, dialects: ['messages'] },
  vendorc: { prefix: '/codex', isPrefixStripped: true, dialects: ['responses'] },
} as const satisfies Readonly<Record<UpstreamName, UpstreamRow>>

/** A path of the contract that belongs to a route group. */
export type GroupedPath = `${(typeof UPSTREAMS)[UpstreamName]['prefix']}/${string}`

/** The upstream of the route group that a path of the contract belongs to. */
export function upstreamOf(path: GroupedPath): UpstreamName {
  const name = UPSTREAM_NAMES.find((candidate) => path.startsWith(`${UPSTREAMS[candidate].prefix}/`))
  if (!name) throw new Error(`The path ${path} belongs to no route group.`)
  return name
}

/**
 * The path of a call at its backend: the path of the contract, without the group's prefix where that is stripped,
 * behind the path of the backend's URL, with the caller's query string unchanged. Only the query is taken from the
 * caller's URL. So no spelling of that URL (absolute form, `..`, upper case) reaches another route with the service's
 * credential.
 */
export function toBackendPath(backendPrefix: string, path: GroupedPath, callerUrl: string): string {
  const { prefix, isPrefixStripped } = UPSTREAMS[upstreamOf(path)]
  const query = callerUrl.indexOf('?')
  return (
    backendPrefix + (isPrefixStripped ? path.slice(prefix.length) : path) + (query === -1 ? '' : callerUrl.slice(query))
  )
}
