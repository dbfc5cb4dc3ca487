/**
 * How the local worker is called, and what its answers become. Every engine speaks the chat style; a call of another style goes to an engine that
 * speaks it as it is, and is otherwise a chat completion and translated back. Whichever way, the answer names the service model.
 */
import type { SnapshotModel } from '../../directory/snapshot.ts'
import { ApiError } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import { newIdentifier } from '../../kernel/identifier.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { readFailure } from '../dialects/failure.ts'
import type { Failure } from '../dialects/failure.ts'
import type { Json } from '../dialects/json/read-json.ts'
import { renameAnswer } from '../dialects/rename-model.ts'
import { makeStreamRewriter } from '../dialects/sse/rewrite.ts'
import { translateCall } from '../dialects/translate.ts'
import type { Outcome, Rewrite, WholeAnswer } from '../upstream/relay.ts'
import { targetPath } from '../upstream/targets.ts'
import type { Target } from '../upstream/targets.ts'
import type { Engine } from '../workers/engine.ts'
import { clampTokens, judgeModel } from '../workers/rules.ts'
import type { NativeStyle } from '../workers/styles.ts'
import { withChanges } from './body.ts'
import type { Asked, CallKind, Route } from './serving.ts'

type Needs = { readonly engine: Engine; readonly clock: Clock }

/** The way of a call to the local worker. Throws `invalid_request` for what the worker cannot be asked, naming the parameter. */
export function toWorker(
  { engine, clock }: Needs,
  target: Target,
  kind: CallKind,
  { id, backendModel }: SnapshotModel,
  asked: Asked,
): Route {
  const call: Call = { engine, kind, model: id, backendModel: backendModel ?? id, clock }
  return {
    target,
    ...(isNative(call, asked) ? asItIs(target, call, asked) : asChat(target, call, asked)),
    // llama.cpp closes its connection behind each stream without saying so, and a call that comes at once would be lost on it.
    closes: asked.body.stream === true,
    after: ({ kind, status }: Outcome) => {
      if (kind === 'cut' || kind in WORKER_REFUSALS || status === 404 || (status ?? 0) >= 500) engine.doubt()
    },
    refusals: WORKER_REFUSALS,
  }
}

const WORKER_REFUSALS = {
  unreachable: 'model_unavailable',
  failed: 'upstream_failed',
  timeout: 'upstream_timeout',
} as const

/** What the way back needs; not what was asked, which would be kept until the answer ends. */
type Call = Needs & {
  readonly kind: CallKind
  /** The service model id. */
  readonly model: string
  readonly backendModel: string
}

type Way = Pick<Route, 'path' | 'body' | 'rewrite'>

/** What is not known yet is translated: that is right with every engine, and nobody waits. */
function isNative({ engine, kind, backendModel }: Call, { body }: Asked): boolean {
  if (kind.locally !== 'translated') return true
  const speech = engine.styles.speaks(nativeStyleOf(kind), backendModel)
  if (!speech?.native) return false
  // An engine that would overlook what it said before must not be asked; the translation refuses that by name.
  return speech.stateful || !DIALECTS[kind.style].needsStoredState(body)
}

function nativeStyleOf({ style }: CallKind): NativeStyle {
  return style === 'messages' ? style : 'responses'
}

// ---- in its own shape

function asItIs(target: Target, call: Call, asked: Asked): Way {
  const { engine, kind, model, backendModel } = call
  return {
    path: targetPath(target, kind.path, asked.url),
    body: withChanges(asked.bytes, asked.body, { model: backendModel, ...clampTokens(asked.body, engine.maxTokens) }),
    rewrite: {
      stream: () => makeStreamRewriter(DIALECTS[kind.style].passStream({ model }), DIALECTS[kind.style].keepAlive),
      whole: (answer) => wholeOf(call, answer, nameModel),
    },
  }
}

function nameModel({ engine, kind, model }: Call, answer: WholeAnswer): WholeAnswer | ApiError {
  const body = renameAnswer(answer.body, model, kind.isAnswer)
  if (body) return { status: answer.status, body, contentType: JSON_TYPE }
  // An answer of another shape is that of a server which does not know the operation, whatever its status.
  if (kind.locally === 'if_spoken') return new ApiError('not_supported')
  if (kind.locally === 'translated') engine.styles.forget()
  return toJson(DIALECTS[kind.style].errorAnswer(502, errorOf(answer.body)))
}

// ---- as a chat completion

function asChat(target: Target, call: Call, { body }: Asked): Way {
  const { engine, kind, model, backendModel, clock } = call
  const { errorAnswer, keepAlive } = DIALECTS[kind.style]
  const context = { model, backendModel, newId: newIdentifier, createdAt: Math.floor(clock.now().getTime() / 1000) }
  const made = translateCall(nativeStyleOf(kind), 'chat', body, context)
  if ('refused' in made) {
    const { param, message } = made.refused
    throw new ApiError('invalid_request', { message: `${param}: ${message}` })
  }
  const { request, answer } = made
  return {
    path: `${target.prefix}/v1/chat/completions`,
    body: Buffer.from(JSON.stringify({ ...request, ...clampTokens(request, engine.maxTokens) })),
    rewrite: {
      stream: () => makeStreamRewriter(answer.stream(), keepAlive),
      whole: (given) =>
        wholeOf(call, given, (_call, { status, body }) => {
          const whole = answer.whole(parse(body))
          return toJson('answer' in whole ? { status, body: whole.answer } : errorAnswer(502, whole.failed))
        }),
    },
  }
}

// ---- what both ways share

/** A whole answer: good ones go through `read`; errors come back in the caller's style. */
function wholeOf(
  call: Call,
  answer: WholeAnswer,
  read: (call: Call, answer: WholeAnswer) => WholeAnswer | ApiError,
): ReturnType<Rewrite['whole']> {
  const { status, body } = answer
  if (status < 300) return read(call, answer)
  const error = errorOf(body)
  if (status === 404 || (status === 400 && MODEL_NOT_FOUND.test(error.message))) return missing(call)
  if (status === 501 && call.kind.locally === 'if_spoken') return new ApiError('not_supported')
  // The key is the gateway's. A caller that is told 401 throws its own away.
  if (status < 400 || status === 401) {
    return new ApiError('upstream_failed', { message: `The local worker refused the gateway with status ${status}.` })
  }
  const { errorAnswer, isErrorBody } = DIALECTS[call.kind.style]
  const told = errorAnswer(status, error)
  const isRight = isErrorBody(parse(body)) && told.status === status && error.kind !== 'context'
  return isRight ? answer : toJson(told)
}

/** In the words of llama.cpp where it serves several models. */
const MODEL_NOT_FOUND = /^model '.*' not found$/

/** The engine has not got the model, or not the operation; only the first may be cured by an operator who loads it. */
function missing({ engine, kind, backendModel }: Call): ApiError {
  const known = engine.glance()
  const isModel = known !== null && judgeModel(known, backendModel) === 'model_missing'
  if (kind.locally === 'if_spoken' && !isModel) return new ApiError('not_supported')
  if (kind.locally === 'translated') engine.styles.forget()
  return new ApiError('model_unavailable')
}

/** An engine may put anything into an error; a page is not told in full. */
const MAX_ERROR_CHARACTERS = 2_000

function errorOf(body: Buffer): Failure {
  const parsed = parse(body)
  return readFailure(parsed === undefined ? body.toString('utf8', 0, MAX_ERROR_CHARACTERS) : parsed)
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

const JSON_TYPE = 'application/json'

function toJson({ status, body }: { status: number; body: Json }): WholeAnswer {
  return { status, body: Buffer.from(JSON.stringify(body)), contentType: JSON_TYPE }
}
