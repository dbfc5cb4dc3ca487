import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { SnapshotModel } from '../../directory/snapshot.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf, ipOf } from '../../http/request.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Logger } from '../../log.ts'
import { pickModel } from '../models/rules.ts'
import type { ModelTeam, TeamOf } from '../models/rules.ts'
import { isCompletion, isEmbeddingList, isMessage, isResponse, isTokenCount } from '../dialects/answer-shapes.ts'
import type { StreamFailure as Failure } from '../dialects/dialect.ts'
import { toUpstreamHeaders } from '../upstream/headers.ts'
import type { KeepAlive } from '../upstream/keep-alive.ts'
import { relay } from '../upstream/relay.ts'
import type { Outcome } from '../upstream/relay.ts'
import type { StreamSlots } from '../limits.ts'
import { sessionIdOf } from '../usage/events.ts'
import type { NoteCall } from '../usage/events.ts'
import { findAmbiguous } from './body.ts'
import { chooseRoute } from './serving.ts'
import type { CallKind, Route, ServingNeeds } from './serving.ts'

type Needs = ServingNeeds & {
  readonly teamOf: TeamOf
  readonly keepAlive: KeepAlive
  readonly noteCall: NoteCall
  readonly streams: StreamSlots
  /** Calls back when the caller's session ends; returns what stops the watch. */
  readonly watchSession: (sessionId: string, onEnd: () => void) => () => void
  readonly log: Logger
}

const CALLS = {
  createChatCompletion: {
    path: '/v1/chat/completions',
    style: 'chat',
    isAnswer: isCompletion,
    locally: 'as_is',
  },
  createCompletion: { path: '/v1/completions', style: 'chat', isAnswer: isCompletion, locally: 'if_spoken' },
  createEmbedding: { path: '/v1/embeddings', style: 'chat', isAnswer: isEmbeddingList, locally: 'if_spoken' },
  createResponse: { path: '/v1/responses', style: 'responses', isAnswer: isResponse, locally: 'translated' },
  createCodexResponse: { path: '/codex/v1/responses', style: 'responses', isAnswer: isResponse, locally: 'translated' },
  compactCodexResponse: {
    path: '/codex/v1/responses/compact',
    style: 'responses',
    isAnswer: isResponse,
    // What it makes is encrypted, and only the vendor can read it.
    locally: 'never',
  },
  createMessage: { path: '/vendorb/v1/messages', style: 'messages', isAnswer: isMessage, locally: 'translated' },
  countMessageTokens: {
    path: '/vendorb/v1/messages/count_tokens',
    style: 'messages',
    isAnswer: isTokenCount,
    locally: 'if_spoken',
  },
} as const satisfies Record<string, CallKind>

/** The model calls of every style: one way through, the differences are data. */
export function callRoutes(needs: Needs): Handlers<keyof typeof CALLS> {
  const serves = (kind: CallKind) => (req: CallRequest, res: ServerResponse) =>
    req.body.stream === true
      ? needs.streams.hold(ipOf(req), () => serveCall(needs, kind, req, res))
      : serveCall(needs, kind, req, res)
  return {
    createChatCompletion: serves(CALLS.createChatCompletion),
    createCompletion: serves(CALLS.createCompletion),
    createEmbedding: serves(CALLS.createEmbedding),
    createResponse: serves(CALLS.createResponse),
    createCodexResponse: serves(CALLS.createCodexResponse),
    compactCodexResponse: serves(CALLS.compactCodexResponse),
    createMessage: serves(CALLS.createMessage),
    countMessageTokens: serves(CALLS.countMessageTokens),
  }
}

type CallBody = { readonly model?: string; readonly stream?: boolean | null; readonly [field: string]: unknown }

/** What a call reads of Express's request. */
type CallRequest = {
  body: CallBody
  bytes?: Buffer | undefined
  readonly id: string
  readonly ip: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly originalUrl: string
  readonly caller?: Caller
}

async function serveCall(needs: Needs, kind: CallKind, req: CallRequest, res: ServerResponse): Promise<void> {
  const caller = callerOf(req)
  refuseAmbiguous(req)
  const model = chooseModel(await needs.teamOf(caller), req.body.model)
  const { running, noted, target, after, refusals } = await startCall(needs, kind, model, req, res)
  letGoOfBody(req)
  const stopWatching = needs.watchSession(caller.sessionId, () => running.end(ACCESS_ENDED))

  const outcome = await running.outcome
  stopWatching()
  noted.end(outcome)
  after(outcome)
  if (BROKEN.has(outcome.kind)) {
    needs.log.warn({ requestId: req.id, model: model.id, servedBy: target.name, ...outcome }, 'call.broken')
  }
  refuseUnanswered(outcome, refusals)
}

/** A function of its own, so that nothing of the request's body stays on the stack of a call that takes minutes. */
async function startCall(needs: Needs, kind: CallKind, model: SnapshotModel, req: CallRequest, res: ServerResponse) {
  const asked = { url: req.originalUrl, bytes: bytesOf(req), body: req.body }
  const { target, path, body, closes, rewrite, after, refusals } = await chooseRoute(needs, kind, model, asked)
  res.setHeader('x-svc-served-by', target.name)
  const headers = toUpstreamHeaders(req.rawHeaders, target)
  if (closes) headers.push('connection', 'close')
  const call = { method: 'POST', path, headers, body } as const
  const noted = needs.noteCall({
    requestId: req.id,
    caller: callerOf(req),
    sessionId: sessionIdOf(req.headers),
    style: kind.style,
    model: model.id,
    servedBy: target.name,
  })
  const running = relay(target, call, res, {
    style: kind.style,
    wantsStream: req.body.stream === true,
    clock: needs.clock,
    rewrite,
    keepAlive: needs.keepAlive,
    tap: noted.tap,
  })
  return { running, noted, target, after, refusals }
}

/** An answer may take minutes, and thousands are open at once: what was asked is not kept parsed and whole for so long. */
function letGoOfBody(req: CallRequest): void {
  req.body = {}
  // Not by `delete`, after which every look at the request is slow.
  req.bytes = undefined
}

/** What the other side did wrong, whether the caller could be told or not. */
const BROKEN: ReadonlySet<Outcome['kind']> = new Set(['cut', 'unreachable', 'failed', 'timeout'])

/** Every reader of a call must find the same in it. */
function refuseAmbiguous(req: CallRequest): void {
  const ambiguous = findAmbiguous(bytesOf(req), req.body)
  if (ambiguous === null) return
  const member = JSON.stringify(ambiguous)
  throw new ApiError('invalid_request', { message: `${member} is in the body twice or in a doubtful spelling.` })
}

function bytesOf({ bytes }: CallRequest): Buffer {
  if (!bytes) throw new Error('The body of a model call was not kept.')
  return bytes
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

const ACCESS_ENDED: Failure = {
  code: 'unauthorized',
  type: 'authentication_error',
  message: 'The access was ended while the answer was on its way.',
}

/** Answers where nothing has been answered yet; a caller that left needs no answer. */
function refuseUnanswered({ kind, answered, refusal }: Outcome, refusals: Route['refusals']): void {
  if (refusal) throw refusal
  if (answered || kind === 'left' || kind === 'whole' || kind === 'cut' || kind === 'refused') return
  throw new ApiError(kind === 'ended' ? 'unauthorized' : refusals[kind])
}
