import type { NewId, StreamState, StreamTranslator } from '../dialect.ts'
import { backendFailed, type Failure } from '../failure.ts'
import type { SseEvent } from '../sse/decode.ts'
import { type ChatEvent, type ChatUsage, readChatEvent } from './chunk.ts'
import { chatParts, type PartEvent } from './parts.ts'

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
  | { readonly type: 'fail'; readonly failure: Failure; readonly usage: ChatUsage | null }

export type ChatAnswer = {
  push(event: ChatEvent): AnswerEvent[]
  end(): AnswerEvent[]
  fail(message: string): AnswerEvent[]
  state(): StreamState
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
  let state: StreamState = 'open'
  let finish: string | null = null
  let stopSequence: string | null = null
  let usage: ChatUsage | null = null

  function failWith(failure: Failure): AnswerEvent[] {
    if (state !== 'open') return []
    state = 'failed'
    return [{ type: 'fail', failure, usage }]
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
    if (!started) return failWith(backendFailed('The engine ended its answer before it began.'))
    if (finish !== null && ENGINE_GAVE_UP.has(finish))
      return failWith(backendFailed('The engine gave up on its answer.'))
    const cut = finish === 'length' || finish === 'content_filter'
    const closing = parts.end(cut)
    const reason = judgeFinish(finish, parts.has)
    const broken = cut ? null : parts.brokenCall()
    if (broken?.name === '')
      return [...closing, ...failWith(backendFailed('The model called a tool without naming it.'))]
    if (broken && argumentsMustBeObjects) {
      return [...closing, ...failWith(backendFailed(`The model called ${broken.name} with broken JSON.`))]
    }
    state = 'ended'
    return [...closing, { type: 'finish', finish: reason, stopSequence, usage }]
  }

  return {
    push(event) {
      if (state !== 'open') return []
      if (event.kind === 'chunk') return takeChunk(event)
      if (event.kind === 'error') return failWith(event.failure)
      return event.kind === 'done' ? complete() : []
    },
    end: () => (finish === null ? failWith(backendFailed('The engine ended its answer too early.')) : complete()),
    fail: (message) => failWith(backendFailed(message)),
    state: () => state,
  }
}

/** A chat stream into the events of another style, rendered one by one. */
export function renderAnswer(answer: ChatAnswer, render: (event: AnswerEvent) => SseEvent[]): StreamTranslator {
  return {
    push: (event) => answer.push(readChatEvent(event)).flatMap(render),
    end: () => answer.end().flatMap(render),
    fail: (message) => answer.fail(message).flatMap(render),
    state: answer.state,
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
