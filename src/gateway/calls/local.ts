/**
 * How the local worker is called, and what its answers become. Every engine speaks the chat style; a call of another style goes to an engine that
 * speaks it as it is, and is otherwise a chat completion and translated back. Whichever way, the answer names the service model.
 */
import type { SnapshotModel } from '../../directory/snapshot.ts'
import { ApiError } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import { newIdentifier } from '../../kernel/identifier.ts'
import { readEngineError } from '../translate/chat.ts'
import type { ChatRequest, EngineError } from '../translate/chat.ts'
import type { StreamTranslator } from '../translate/chat-answer.ts'
import { chatStream } from '../translate/chat-stream.ts'
import { toErrorAnswer } from '../translate/engine-error.ts'
import { eventRewrite } from '../translate/event-rewrite.ts'
import { toChatFromMessages } from '../translate/messages-request.ts'
import { toMessageFromChat } from '../translate/messages-response.ts'
import { messagesStream } from '../translate/messages-stream.ts'
import { nativeAnswer, nativeMessagesStream, nativeResponsesStream } from '../translate/native-stream.ts'
import { isObject } from '../translate/read.ts'
import type { Json } from '../translate/read.ts'
import type { Refusal } from '../translate/refusal.ts'
import { toChatFromResponses } from '../translate/responses-request.ts'
import { toResponseFromChat } from '../translate/responses-response.ts'
import { responsesStream } from '../translate/responses-stream.ts'
import type { Outcome, Rewrite, WholeAnswer } from '../upstream/relay.ts'
import type { Style } from '../upstream/stream-watch.ts'
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
  return (
    speech.stateful ||
    kind.style !== 'responses' ||
    (isNothing(body.previous_response_id) && isNothing(body.conversation))
  )
}

function nativeStyleOf({ style }: CallKind): NativeStyle {
  return style === 'messages' ? style : 'responses'
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null
}

// ---- in its own shape

function asItIs(target: Target, call: Call, asked: Asked): Way {
  const { engine, kind, model, backendModel } = call
  return {
    path: targetPath(target, kind.path, asked.url),
    body: withChanges(asked.bytes, asked.body, { model: backendModel, ...clampTokens(asked.body, engine.maxTokens) }),
    rewrite: {
      stream: () => eventRewrite(NATIVE_STREAMS[kind.style]({ model }), kind.style),
      whole: (answer) => wholeOf(call, answer, nameModel),
    },
  }
}

const NATIVE_STREAMS = {
  chat: chatStream,
  messages: nativeMessagesStream,
  responses: nativeResponsesStream,
} as const satisfies Record<Style, (options: { model: string }) => StreamTranslator>

function nameModel({ engine, kind, model }: Call, answer: WholeAnswer): WholeAnswer | ApiError {
  const body = nativeAnswer(answer.body, model, kind.isAnswer)
  if (body) return { status: answer.status, body, contentType: JSON_TYPE }
  // An answer of another shape is that of a server which does not know the operation, whatever its status.
  if (kind.locally === 'if_spoken') return new ApiError('not_supported')
  if (kind.locally === 'translated') engine.styles.forget()
  return toJson(toErrorAnswer(kind.style, 502, errorOf(answer.body)))
}

// ---- as a chat completion

type Translation = {
  readonly request: ChatRequest
  readonly stream: () => StreamTranslator
  readonly whole: (completion: unknown) => { readonly answer: Json } | { readonly failed: EngineError }
}

function asChat(target: Target, call: Call, { body }: Asked): Way {
  const { engine, kind } = call
  const { request, stream, whole } = TRANSLATIONS[nativeStyleOf(kind)](call, body)
  return {
    path: `${target.prefix}/v1/chat/completions`,
    body: Buffer.from(JSON.stringify({ ...request, ...clampTokens(request, engine.maxTokens) })),
    rewrite: {
      stream: () => eventRewrite(stream(), kind.style),
      whole: (given) =>
        wholeOf(call, given, (_call, { status, body }) => {
          const made = whole(parse(body))
          return toJson('answer' in made ? { status, body: made.answer } : toErrorAnswer(kind.style, 502, made.failed))
        }),
    },
  }
}

const TRANSLATIONS: Readonly<Record<NativeStyle, (call: Call, asked: Json) => Translation>> = {
  messages({ model, backendModel }, asked) {
    const { request, facts } = orThrow(toChatFromMessages(asked, { model: backendModel }))
    const options = { model, newId: newIdentifier, facts }
    return {
      request,
      stream: () => messagesStream(options),
      whole(completion) {
        const made = toMessageFromChat(completion, options)
        return 'failed' in made ? made : { answer: made.message }
      },
    }
  },
  responses({ model, backendModel, clock }, asked) {
    const { request, facts } = orThrow(toChatFromResponses(asked, { model: backendModel }))
    const options = { model, newId: newIdentifier, facts, createdAt: Math.floor(clock.now().getTime() / 1000) }
    return {
      request,
      stream: () => responsesStream(options),
      whole(completion) {
        const made = toResponseFromChat(completion, options)
        return 'failed' in made ? made : { answer: made.response }
      },
    }
  },
}

function orThrow<T extends object>(translated: T | { refused: Refusal }): T {
  if (!('refused' in translated)) return translated
  const { param, message } = translated.refused
  throw new ApiError('invalid_request', { message: `${param}: ${message}` })
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
  const told = toErrorAnswer(call.kind.style, status, error)
  const isRight = isErrorOf(call.kind.style, parse(body)) && told.status === status && !error.contextExceeded
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

function isErrorOf(style: Style, body: unknown): boolean {
  return isObject(body) && isObject(body.error) && (style !== 'messages' || body.type === 'error')
}

/** An engine may put anything into an error; a page is not told in full. */
const MAX_ERROR_CHARACTERS = 2_000

function errorOf(body: Buffer): EngineError {
  const parsed = parse(body)
  return readEngineError(parsed === undefined ? body.toString('utf8', 0, MAX_ERROR_CHARACTERS) : parsed)
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
