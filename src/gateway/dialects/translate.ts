import { DEFAULT_CAPS } from './caps.ts'
import { readChatRequest } from './chat/read-request.ts'
import { writeChatRequest } from './chat/write-request.ts'
import type { Dialect, StreamState, StreamTranslator } from './dialect.ts'
import type { Failure } from './failures/failure.ts'
import type { Json } from './json/read-json.ts'
import { readMessagesRequest } from './messages/read-request.ts'
import { writeMessagesRequest } from './messages/write-request.ts'
import type { AnswerEvent, FailEvent, FinishEvent, NeutralRequest } from './neutral.ts'
import { askToContinue } from './parts/continuation.ts'
import { noteUnreadable } from './parts/unreadable.ts'
import { orRefused, refuse } from './refusal.ts'
import type { Refusal } from './refusal.ts'
import { readResponsesRequest } from './responses/read-request.ts'
import { writeResponsesRequest } from './responses/write-request.ts'
import type { SseEvent } from './sse/decode.ts'
import {
  addFollowingCall,
  enforceStops,
  keepSummary,
  renewCallIds,
  requireObjects,
  unwrapCustomTools,
} from './stages.ts'
import type { Stage } from './stages.ts'
import { keepLastResults, listCallIds, separateCalls } from './tools/call-ids.ts'
import { keepLastTools } from './tools/tool-names.ts'
import type {
  AnswerReader,
  AnswerWriter,
  TranslatedDialect,
  TranslationContext,
  TranslationOptions,
} from './translated-dialect.ts'

/** A translated request, and the translation of its answer. */
export type Translation = {
  /** The body for the backend. */
  readonly request: Json
  /** Headers that the backend's dialect requires. */
  readonly headers: Readonly<Record<string, string>>
  readonly answer: AnswerTranslation
}

/** Translates the answer of one call. Call only one of the functions, and only once: they share their state. */
export type AnswerTranslation = {
  /** Makes a translator for one stream of the backend. */
  readonly stream: () => StreamTranslator
  /** Translates a whole body, given as parsed JSON. `failed` when the body has no answer. */
  readonly whole: (body: unknown) => { readonly answer: Json } | { readonly failed: Failure }
  /** Makes a translator of one stream into a whole body, for a client that has not asked for a stream. */
  readonly collect: () => AnswerCollector
  /** Translates a whole body into the stream of the same answer, for a client that has asked for a stream. */
  readonly replay: (body: unknown) => { readonly events: readonly SseEvent[] } | { readonly failed: Failure }
}

/** Translates a stream event by event into a whole body. */
type AnswerCollector = {
  push(event: SseEvent): void
  /** Also `ended` when the stream has failed. */
  state(): StreamState
  /** The stream has ended. `failed` when it has no whole answer. */
  end(): { readonly answer: Json } | { readonly failed: Failure }
}

/** The reader and the writer of each dialect. */
export const TRANSLATED: Readonly<Record<Dialect, TranslatedDialect>> = {
  chat: { conversation: 'messages', readRequest: readChatRequest, writeRequest: writeChatRequest },
  responses: { conversation: 'input', readRequest: readResponsesRequest, writeRequest: writeResponsesRequest },
  messages: { conversation: 'messages', readRequest: readMessagesRequest, writeRequest: writeMessagesRequest },
}

/** Translates a client's call for a backend of another dialect, or returns why that is not possible. */
export function translateCall(
  client: Dialect,
  backend: Dialect,
  body: Json,
  options: TranslationOptions,
): Translation | { readonly refused: Refusal } {
  const context: TranslationContext = { ...options, caps: { ...DEFAULT_CAPS[backend], ...options.caps } }
  const { conversation, readRequest } = TRANSLATED[client]
  return orRefused(() => {
    const call = readRequest(body, context)
    if (context.seals?.areTooLarge()) refuse(conversation, SEALS_TOO_LARGE)
    const usedIds = listCallIds(call.request.turns)
    const asked = {
      ...call.request,
      turns: keepLastResults(separateCalls(call.request.turns, usedIds)),
      tools: keepLastTools(call.request.tools),
    }
    const limited = limitOutput(asked, options.caps.maxOutput)
    const request = askToContinue(noteUnreadable(limited, context.caps), context)
    const sent = TRANSLATED[backend].writeRequest(request, context)
    return {
      request: sent.body,
      headers: sent.headers,
      answer: translateAnswer({
        reader: sent.reader,
        stages: [
          ...(usedIds.length > 0 ? [renewCallIds(new Set(usedIds), context.newId)] : []),
          ...(context.caps.customTools ? [] : [unwrapCustomTools()]),
          ...(call.argumentsAreObjects ? [requireObjects()] : []),
          ...(sent.stops.length > 0 ? [enforceStops(sent.stops)] : []),
          ...(context.seals ? [addFollowingCall()] : []),
          ...(call.isSummary ? [keepSummary()] : []),
        ],
        writer: call.makeAnswerWriter(sent.withheld),
      }),
    }
  })
}

/** A function of its own, because closures in `translateCall` would keep the request until the answer ends. */
function translateAnswer(pipeline: Pipeline): AnswerTranslation {
  return {
    stream: () => makeStreamTranslator(pipeline),
    whole: (answer) => translateWhole(pipeline, pipeline.reader.whole(answer)),
    collect: () => makeCollector(pipeline),
    replay: (answer) => replayWhole(pipeline, answer),
  }
}

/**
 * Lowers a token limit that is higher than the model's. Agents send the limits of their vendor's models, and vendors
 * refuse a request whose limit is too high. Without a limit of the directory, the client's stays.
 */
function limitOutput(request: NeutralRequest, maxOutput: number = Infinity): NeutralRequest {
  const { maxOutput: asked } = request
  return asked === null || asked <= maxOutput ? request : { ...request, maxOutput }
}

const SEALS_TOO_LARGE =
  'The conversation has more than 16 MiB of encrypted reasoning: start a new one, or leave out the oldest reasoning.'

type Pipeline = { readonly reader: AnswerReader; readonly stages: readonly Stage[]; readonly writer: AnswerWriter }

function passStages(stages: readonly Stage[], events: readonly AnswerEvent[]): readonly AnswerEvent[] {
  return stages.reduce((passed, stage) => passed.flatMap(stage), events)
}

function makeStreamTranslator({ reader, stages, writer }: Pipeline): StreamTranslator {
  let state: StreamState = 'open'

  function write(events: readonly AnswerEvent[]): SseEvent[] {
    return passStages(stages, events).flatMap((event) => {
      if (state !== 'open') return []
      if (event.type === 'finish') state = 'ended'
      if (event.type === 'fail') state = 'failed'
      return writer.write(event)
    })
  }

  return {
    push: (event) => write(reader.push(event)),
    end: () => write(reader.end()),
    fail: (failure) => write(reader.fail(failure)),
    state: () => (state === 'open' && reader.isFinishing?.() ? 'finishing' : state),
  }
}

function makeCollector(pipeline: Pipeline): AnswerCollector {
  const { reader } = pipeline
  const given: AnswerEvent[] = []
  let isOver = false
  return {
    push(event) {
      if (isOver) return
      const events = reader.push(event)
      given.push(...events)
      isOver = events.some(isEnd)
    },
    state: () => (isOver ? 'ended' : reader.isFinishing?.() ? 'finishing' : 'open'),
    end: () => translateWhole(pipeline, isOver ? given : [...given, ...reader.end()]),
  }
}

type Given = readonly AnswerEvent[]

function translateWhole(pipeline: Pipeline, given: Given): { answer: Json } | { failed: Failure } {
  const read = readWhole(pipeline, given)
  return 'failed' in read ? read : { answer: pipeline.writer.whole(read) }
}

function replayWhole(pipeline: Pipeline, body: unknown): { events: readonly SseEvent[] } | { failed: Failure } {
  const read = readWhole(pipeline, pipeline.reader.whole(body))
  return 'failed' in read ? read : { events: read.flatMap((event) => pipeline.writer.write(event)) }
}

/** Passes a whole answer through the same stages as a stream. */
function readWhole({ stages }: Pipeline, given: Given): Given | { failed: Failure } {
  const passed = passStages(stages, given)
  const events = passed.slice(0, passed.findIndex(isEnd) + 1)
  const end = events.at(-1)
  if (end?.type === 'fail') return { failed: end.failure }
  const usage = given.find((event) => event.type === 'finish')?.usage ?? null
  // A stage that ends the answer early does not know the usage yet.
  return events.map((event) => (event.type === 'finish' ? { ...event, usage } : event))
}

function isEnd(event: AnswerEvent): event is FinishEvent | FailEvent {
  return event.type === 'finish' || event.type === 'fail'
}
