import type { NewId } from '../dialect.ts'
import { backendFailed, ENDED_EARLY } from '../failures/failure.ts'
import type { Failure } from '../failures/failure.ts'
import type { AnswerReader } from '../hub.ts'
import type { AnswerEvent, AnswerUsage, Finish } from '../neutral.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import { readChatEvent, readCompletion } from './chunk.ts'
import type { ChatEvent } from './chunk.ts'
import { makeChatParts } from './parts.ts'

type Needs = { readonly newId: NewId; readonly names: ToolNames }

/**
 * Makes a reader for a chat answer. A stream that ends without a finish reason and without `[DONE]` is a failure. Each
 * report of usage replaces the one before, because reports are cumulative.
 */
export function makeChatReader({ newId, names }: Needs): AnswerReader {
  const parts = makeChatParts({ newId, toTool: names.toTool })
  let started = false
  let over = false
  let finish: string | null = null
  let stopSequence: string | null = null
  let usage: AnswerUsage | null = null

  function failWith(failure: Failure): AnswerEvent[] {
    if (over) return []
    over = true
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
    if (over) return []
    if (!started) return failWith(backendFailed('The backend ended its answer before it began.'))
    if (finish !== null && GAVE_UP.has(finish)) return failWith(backendFailed('The backend gave up on its answer.'))
    const cut = finish === 'length' || finish === 'content_filter'
    const closing = parts.end(cut)
    if (!cut && parts.hasNamelessCall()) {
      return [...closing, ...failWith(backendFailed('The model called a tool without naming it.'))]
    }
    over = true
    const reason = judgeFinish(finish, stopSequence, parts.has)
    return [...closing, { type: 'finish', finish: reason, stopSequence, usage }]
  }

  function take(event: ChatEvent): AnswerEvent[] {
    if (over) return []
    if (event.kind === 'chunk') return takeChunk(event)
    if (event.kind === 'error') return failWith(event.failure)
    return event.kind === 'done' ? complete() : []
  }

  return {
    push: (event) => take(readChatEvent(event)),
    whole: (body) => [...take(readCompletion(body)), ...take({ kind: 'done' })],
    end: () => (finish === null ? failWith(ENDED_EARLY) : complete()),
    fail: failWith,
  }
}

const GAVE_UP = new Set(['error', 'abort'])

function judgeFinish(
  finish: string | null,
  stopSequence: string | null,
  has: (kind: 'tool' | 'refusal') => boolean,
): Finish {
  if (finish === 'length') return 'length'
  if (finish === 'content_filter') return 'filter'
  // Some engines report `stop` after a call. The agent would then stop instead of running its tools.
  if (has('tool')) return 'tools'
  if (has('refusal')) return 'refusal'
  return stopSequence === null ? 'stop' : 'stopSequence'
}
