import type { ServerResponse } from 'node:http'
import type { SnapshotModel } from '../../directory/snapshot.ts'
import { ApiError } from '../../http/errors.ts'
import type { ErrorCode } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { pickModel } from '../models/rules.ts'
import type { ModelTeam, TeamOf } from '../models/rules.ts'
import { spliceTopLevel } from '../translate/splice.ts'
import { toUpstreamHeaders } from '../upstream/headers.ts'
import { relay } from '../upstream/relay.ts'
import type { Outcome, Rewrite } from '../upstream/relay.ts'
import type { Failure, Style } from '../upstream/stream-watch.ts'
import { routeGroupOf, targetPath } from '../upstream/targets.ts'
import type { Target, Upstreams } from '../upstream/targets.ts'
import type { Engine } from '../workers/engine.ts'
import { renameModel } from '../workers/rename.ts'
import { clampTokens, judgeModel } from '../workers/rules.ts'
import { findAmbiguous } from './body.ts'
import { chooseServing } from './rules.ts'

type Needs = {
  readonly teamOf: TeamOf
  readonly upstreams: Upstreams
  readonly engine: Engine
  /** Calls back when the caller's session ends; returns what stops the watch. */
  readonly watchSession: (sessionId: string, onEnd: () => void) => () => void
  readonly clock: Clock
  readonly log: Logger
}

/** What is different from one operation to the next. */
type CallKind = {
  /** Of the contract. */
  readonly path: string
  readonly style: Style
  /** The local worker can be called in this style. */
  readonly speaksLocally: boolean
}

const CALLS = {
  createChatCompletion: { path: '/v1/chat/completions', style: 'chat', speaksLocally: true },
  createResponse: { path: '/v1/responses', style: 'responses', speaksLocally: false },
  createCodexResponse: { path: '/codex/v1/responses', style: 'responses', speaksLocally: false },
  createMessage: { path: '/vendorb/v1/messages', style: 'messages', speaksLocally: false },
} as const satisfies Record<string, CallKind>

/** The model calls of every style: one way through, the differences are data. */
export function callRoutes(needs: Needs): Handlers<keyof typeof CALLS> {
  const serves = (kind: CallKind) => (req: CallRequest, res: ServerResponse) => serveCall(needs, kind, req, res)
  return {
    createChatCompletion: serves(CALLS.createChatCompletion),
    createResponse: serves(CALLS.createResponse),
    createCodexResponse: serves(CALLS.createCodexResponse),
    createMessage: serves(CALLS.createMessage),
  }
}

type CallBody = { readonly model?: string; readonly stream?: boolean | null; readonly [field: string]: unknown }

/** What a call reads of Express's request. */
type CallRequest = {
  body: CallBody
  bytes?: Buffer
  readonly id: string
  readonly rawHeaders: readonly string[]
  readonly originalUrl: string
  readonly caller?: Caller
}

async function serveCall(needs: Needs, kind: CallKind, req: CallRequest, res: ServerResponse): Promise<void> {
  const caller = callerOf(req)
  const bytes = bytesOf(req)
  const model = chooseModel(await needs.teamOf(caller), req.body.model)
  const route = await chooseRoute(needs, kind, model)

  res.setHeader('x-svc-served-by', route.target.name)
  const call = {
    method: 'POST',
    path: targetPath(route.target, kind.path, req.originalUrl),
    headers: toUpstreamHeaders(req.rawHeaders, route.target),
    body: withChanges(bytes, req.body, route.changes(req.body)),
  } as const
  const options = {
    style: kind.style,
    wantsStream: req.body.stream === true,
    clock: needs.clock,
    rewrite: route.rewrite,
  }
  letGoOfBody(req)
  const running = relay(route.target, call, res, options)
  const stopWatching = needs.watchSession(caller.sessionId, () => running.end(ACCESS_ENDED))

  const outcome = await running.outcome
  stopWatching()
  route.after(outcome)
  if (BROKEN.has(outcome.kind)) {
    needs.log.warn({ requestId: req.id, model: model.id, servedBy: route.target.name, ...outcome }, 'call.broken')
  }
  refuseUnanswered(outcome, route.refusals)
}

/** An answer may take minutes, and thousands are open at once: what was asked is not kept parsed and whole for so long. */
function letGoOfBody(req: CallRequest): void {
  req.body = {}
  delete req.bytes
}

/** What the other side did wrong, whether the caller could be told or not. */
const BROKEN: ReadonlySet<Outcome['kind']> = new Set(['cut', 'unreachable', 'failed', 'timeout'])

/** The bytes of the body, once it is sure that every reader finds the same in them. */
function bytesOf({ bytes, body }: CallRequest): Buffer {
  if (!bytes) throw new Error('The body of a model call was not kept.')
  const ambiguous = findAmbiguous(bytes, body)
  if (ambiguous === null) return bytes
  const member = JSON.stringify(ambiguous)
  throw new ApiError('invalid_request', { message: `${member} is in the body twice or in a doubtful spelling.` })
}

function chooseModel(team: ModelTeam | null, requested: string | undefined): SnapshotModel {
  const verdict = team ? pickModel(team, requested) : 'model_not_allowed'
  if (verdict === 'no_model_named') {
    throw new ApiError('invalid_request', {
      message: 'Name a model: your team has no default. GET /v1/models lists its models.',
    })
  }
  if (verdict === 'model_not_allowed') throw new ApiError(verdict)
  return verdict.model
}

/** A serving path: where a call goes, and what is changed on the way. */
type Route = {
  readonly target: Target
  /** Members of the body that get another value. */
  readonly changes: (body: CallBody) => Readonly<Record<string, unknown>>
  readonly rewrite: Rewrite | null
  readonly after: (outcome: Outcome) => void
  /** The code of each failure that left the caller without an answer. */
  readonly refusals: Readonly<Record<'unreachable' | 'timeout' | 'failed', ErrorCode>>
}

async function chooseRoute(needs: Needs, kind: CallKind, model: SnapshotModel): Promise<Route> {
  const upstream = needs.upstreams[routeGroupOf(kind.path).upstream]
  const worker = await workerState(needs.engine, model, upstream !== null)
  const serving = chooseServing({ model, worker, speaksStyle: kind.speaksLocally, hasUpstream: upstream !== null })
  if (serving === 'upstream' && upstream) return toUpstream(upstream, model)
  if (serving === 'local-engine' && needs.engine.target) return toWorker(needs.engine, needs.engine.target, model)
  throw new ApiError('model_unavailable')
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

function toUpstream(target: Target, { id, upstreamModel }: SnapshotModel): Route {
  const name = upstreamModel ?? id
  return {
    target,
    changes: ({ model }) => (model === name ? {} : { model: name }),
    rewrite: null,
    after: () => {},
    refusals: { unreachable: 'upstream_failed', failed: 'upstream_failed', timeout: 'upstream_timeout' },
  }
}

function toWorker({ maxTokens, doubt }: Engine, target: Target, { id, backendModel }: SnapshotModel): Route {
  return {
    target,
    changes: (body) => ({ model: backendModel, ...clampTokens(body, maxTokens) }),
    rewrite: renameModel(id),
    after: ({ kind, status }) => {
      if (kind === 'cut' || kind in WORKER_REFUSALS || status === 404 || (status ?? 0) >= 500) doubt()
    },
    refusals: WORKER_REFUSALS,
  }
}

const WORKER_REFUSALS = {
  unreachable: 'model_unavailable',
  failed: 'upstream_failed',
  timeout: 'upstream_timeout',
} as const

/** The bytes as they came, unless a member must have another value: then only that value changes. */
function withChanges(bytes: Buffer, body: CallBody, changes: Readonly<Record<string, unknown>>): Buffer {
  if (Object.keys(changes).length === 0) return bytes
  const spliced = spliceTopLevel(bytes, changes)
  if (!spliced) throw new Error(`The body of a call is no object but ${typeof body}.`)
  return spliced.bytes
}

const ACCESS_ENDED: Failure = {
  code: 'unauthorized',
  type: 'authentication_error',
  message: 'The access was ended while the answer was on its way.',
}

/** Answers where nothing has been answered yet; a caller that left needs no answer. */
function refuseUnanswered({ kind, answered }: Outcome, refusals: Route['refusals']): void {
  if (answered || kind === 'left' || kind === 'whole' || kind === 'cut') return
  throw new ApiError(kind === 'ended' ? 'unauthorized' : refusals[kind])
}
