import type { SseEvent } from '../sse/decode.ts'
import type { Translator } from '../sse/through.ts'
import { type ChatEvent, type ChatUsage, type EngineError, type NewId, readChatEvent } from './chat.ts'
import { chatParts, type PartEvent } from './chat-parts.ts'

/** A stream of one style into a stream of another. Nothing follows its last event, whatever is pushed after that. */
export type StreamTranslator = Translator<SseEvent, SseEvent> & {
  /** Ends the stream as its style ends a failure: the engine was cut off, fell silent or access was revoked. */
  fail(message: string): SseEvent[]
  outcome(): Outcome
}

/** How far the answer has come, and the tokens that were reported so far. */
export type Outcome = {
  readonly state: 'open' | 'completed' | 'incomplete' | 'failed'
  readonly usage: ChatUsage | null
}

/** Why the answer ended. `length` wins over everything, because a call that was cut off must not be carried out. */
export type Finish = 'stop' | 'length' | 'filter' | 'tools' | 'refusal'

export type AnswerEvent =
  | { readonly type: 'start' }
  | PartEvent
  | {
      readonly type: 'finish'
      readonly finish: Finish
      readonly stopSequence: string | null
      readonly usage: ChatUsage | null
    }
  | { readonly type: 'fail'; readonly error: EngineError; readonly usage: ChatUsage | null }

export type ChatAnswer = {
  push(event: ChatEvent): AnswerEvent[]
  end(): AnswerEvent[]
  fail(message: string): AnswerEvent[]
  outcome(): Outcome
}

type AnswerOptions = {
  readonly newId: NewId
  /** A call with arguments that are not a JSON object fails the answer, for a style that can only carry objects. */
  readonly argumentsMustBeObjects: boolean
}

/**
 * The events of a chat answer in order: one `start`, parts, then one `finish` or `fail`. An engine whose bytes end before
 * it gave a reason or `[DONE]` has failed. Usage is set by every report, never added up: reports are cumulative.
 */
export function chatAnswer({ newId, argumentsMustBeObjects }: AnswerOptions): ChatAnswer {
  const parts = chatParts(newId)
  let started = false
  let state: Outcome['state'] = 'open'
  let finish: string | null = null
  let stopSequence: string | null = null
  let usage: ChatUsage | null = null

  function failWith(error: EngineError): AnswerEvent[] {
    if (state !== 'open') return []
    state = 'failed'
    return [{ type: 'fail', error, usage }]
  }

  function takeChunk(chunk: Extract<ChatEvent, { kind: 'chunk' }>): AnswerEvent[] {
    const events: AnswerEvent[] = started ? [] : [{ type: 'start' }]
    started = true
    finish = chunk.finish ?? finish
    stopSequence = chunk.stopSequence ?? stopSequence
    usage = chunk.usage ?? usage
    return [...events, ...parts.push(chunk.delta)]
  }

  function complete(): AnswerEvent[] {
    if (state !== 'open') return []
    if (!started) return failWith(failure('The engine ended its answer before it began.'))
    if (finish !== null && ENGINE_GAVE_UP.has(finish)) return failWith(failure('The engine gave up on its answer.'))
    const cut = finish === 'length' || finish === 'content_filter'
    const closing = parts.end(cut)
    const reason = judgeFinish(finish, parts.has)
    const broken = cut ? null : parts.brokenCall()
    if (broken?.name === '') return [...closing, ...failWith(failure('The model called a tool without naming it.'))]
    if (broken && argumentsMustBeObjects) {
      return [...closing, ...failWith(failure(`The model called ${broken.name} with broken JSON.`))]
    }
    state = cut ? 'incomplete' : 'completed'
    return [...closing, { type: 'finish', finish: reason, stopSequence, usage }]
  }

  return {
    push(event) {
      if (state !== 'open') return []
      if (event.kind === 'chunk') return takeChunk(event)
      if (event.kind === 'error') return failWith(event.error)
      return event.kind === 'done' ? complete() : []
    },
    end: () => (finish === null ? failWith(failure('The engine ended its answer too early.')) : complete()),
    fail: (message) => failWith(failure(message)),
    outcome: () => ({ state, usage }),
  }
}

/** A chat stream into the events of another style, rendered one by one. */
export function renderAnswer(answer: ChatAnswer, render: (event: AnswerEvent) => SseEvent[]): StreamTranslator {
  return {
    push: (event) => answer.push(readChatEvent(event)).flatMap(render),
    end: () => answer.end().flatMap(render),
    fail: (message) => answer.fail(message).flatMap(render),
    outcome: answer.outcome,
  }
}

const ENGINE_GAVE_UP = new Set(['error', 'abort'])

function judgeFinish(finish: string | null, has: (kind: 'tool' | 'refusal') => boolean): Finish {
  if (finish === 'length') return 'length'
  if (finish === 'content_filter') return 'filter'
  // Some engines say `stop` after a call, and an agent that is not told to use its tools just stops.
  if (has('tool')) return 'tools'
  return has('refusal') ? 'refusal' : 'stop'
}

function failure(message: string): EngineError {
  return { message, contextExceeded: false }
}
