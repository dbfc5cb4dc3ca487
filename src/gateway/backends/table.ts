/** The route groups of this gateway, and the upstreams that serve them, as a table. */
import { UPSTREAM_NAMES } from '../../kernel/backend-name.ts'
import type { UpstreamName } from '../../kernel/backend-name.ts'
import type { ModelCaps } from '../dialects/caps.ts'
import type { Dialect } from '../dialects/dialect.ts'

/** `vendor`: a service with models of its own. `engine`: an inference server of the operator. */
export type BackendKind = 'vendor' | 'engine'

export type UpstreamRow = {
  /** The prefix of its route group: calls to these paths go there, unless the directory names another backend. */
  readonly prefix: `/${string}`
  /** Of the paths that go there without the prefix, for clients whose base URL is the gateway itself. */
  readonly rootPath?: `/${string}`
  readonly dialects: readonly Dialect[]
  /** What its models can be asked in translated calls, where the directory says nothing of a model. */
  readonly caps?: Partial<ModelCaps>
}

/** Each upstream with its route group and the dialects that it supports. */
export const UPSTREAMS = {
  vendora: {
    prefix: '/v1',
    dialects: ['chat', 'responses'],
    // Its models that reason refuse `max_tokens`.
    caps: { limitName: 'max_completion_tokens' },
  },
  vendorb: { prefix: '/vendorb', rootPath: '/v1/messages', dialects: ['messages'] },
  vendorc: { prefix: '/codex', dialects: ['responses'] },
} as const satisfies Readonly<Record<UpstreamName, UpstreamRow>>

/** A path of the contract that belongs to a route group. */
export type GroupedPath = `${(typeof UPSTREAMS)[UpstreamName]['prefix']}/${string}`

/** The upstream of the route group that a path of the contract belongs to. */
export function upstreamOf(path: GroupedPath): UpstreamName {
  const findBy = (member: 'rootPath' | 'prefix') =>
    UPSTREAM_NAMES.find((candidate) => isAtOrBelow(path, rowOf(candidate)[member]))
  const name = findBy('rootPath') ?? findBy('prefix')
  if (!name) throw new Error(`The path ${path} belongs to no route group.`)
  return name
}

/** What a path of the contract has behind `/v1`, such as `/messages`. */
export function toDialectPath(path: GroupedPath): string {
  return path.slice(path.indexOf(VERSION) + VERSION.length)
}

/** The first segment of the path of every call, behind the prefix of its group. */
const VERSION = '/v1'

function rowOf(name: UpstreamName): UpstreamRow {
  return UPSTREAMS[name]
}

function isAtOrBelow(path: string, base: string | undefined): boolean {
  return base !== undefined && (path === base || path.startsWith(`${base}/`))
}
