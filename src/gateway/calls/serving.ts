import type { SnapshotModel } from '../../directory/snapshot.ts'
import { ApiError } from '../../http/errors.ts'
import type { ErrorCode } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import type { Json } from '../dialects/json/read-json.ts'
import type { Outcome, Rewrite } from '../upstream/relay.ts'
import { routeGroupOf, targetPath } from '../upstream/targets.ts'
import type { Target, Upstreams } from '../upstream/targets.ts'
import type { Engine } from '../workers/engine.ts'
import { judgeModel } from '../workers/rules.ts'
import { withChanges } from './body.ts'
import { toWorker } from './local.ts'
import { chooseServing } from './rules.ts'

/** What is different from one operation to the next. */
export type CallKind = {
  /** Of the contract. */
  readonly path: string
  readonly style: Dialect
  /** Whether a body is an answer of this operation, by its shape. */
  readonly isAnswer: (body: Json) => boolean
  /**
   * How the local worker serves it. `as_is`: every engine can; `translated`: in its own style where it speaks it, else as a chat completion;
   * `if_spoken`: some engines can, the others are `not_supported`; `never`.
   */
  readonly locally: 'as_is' | 'translated' | 'if_spoken' | 'never'
}

/** The call as the caller made it. */
export type Asked = { readonly url: string; readonly bytes: Buffer; readonly body: Json }

/** A serving path: where a call goes, and what is changed on the way there and back. */
export type Route = {
  readonly target: Target
  readonly path: string
  readonly body: Buffer
  /** The connection serves no other call after this one. */
  readonly closes: boolean
  readonly rewrite: Rewrite | null
  readonly after: (outcome: Outcome) => void
  /** The code of each failure that left the caller without an answer. */
  readonly refusals: Readonly<Record<'unreachable' | 'timeout' | 'failed', ErrorCode>>
}

export type ServingNeeds = { readonly upstreams: Upstreams; readonly engine: Engine; readonly clock: Clock }

/** The serving path of a call of an allowed model. Throws `model_unavailable` where there is none, and what the path refuses. */
export async function chooseRoute(
  needs: ServingNeeds,
  kind: CallKind,
  model: SnapshotModel,
  asked: Asked,
): Promise<Route> {
  const { engine } = needs
  const upstream = needs.upstreams[routeGroupOf(kind.path).upstream]
  const worker = await workerState(engine, model, upstream !== null)
  const speaksStyle = kind.locally !== 'never'
  const serving = chooseServing({ model, worker, speaksStyle, hasUpstream: upstream !== null })
  if (serving === 'upstream' && upstream) return toUpstream(upstream, kind, model, asked, engine.target !== null)
  if (serving === 'local-engine' && engine.target) return toWorker(needs, engine.target, kind, model, asked)
  // Retrying is no cure where the worker has the model but not this operation.
  throw new ApiError(speaksStyle || !engine.target ? 'model_unavailable' : 'not_supported')
}

/** Waits for knowledge only where it changes the way: at the first call of a model that both could serve. */
async function workerState(
  { glance, look }: Engine,
  { backendModel, upstreamModel }: SnapshotModel,
  hasUpstream: boolean,
) {
  if (backendModel === null) return 'not_configured'
  const known = glance()
  if (known) return judgeModel(known, backendModel)
  return upstreamModel !== null && hasUpstream ? judgeModel(await look(), backendModel) : 'unavailable'
}

function toUpstream(
  target: Target,
  { path, style }: CallKind,
  { id, upstreamModel }: SnapshotModel,
  { url, bytes, body }: Asked,
  hasWorker: boolean,
): Route {
  const name = upstreamModel ?? id
  // A session that the worker served until now goes on at a vendor, which refuses reasoning that is not its own.
  const { hasLocalReasoning, withoutLocalReasoning } = DIALECTS[style]
  const cleaned = hasWorker && hasLocalReasoning(body) ? withoutLocalReasoning(bytes) : bytes
  return {
    target,
    path: targetPath(target, path, url),
    body: body.model === name ? cleaned : withChanges(cleaned, body, { model: name }),
    closes: false,
    rewrite: null,
    after: () => {},
    refusals: { unreachable: 'upstream_failed', failed: 'upstream_failed', timeout: 'upstream_timeout' },
  }
}
