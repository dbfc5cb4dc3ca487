import type { NewId } from '../dialect.ts'
import { answerFailed, ENDED_EARLY, NAMELESS_CALL, NOT_BEGUN } from '../failures/failure.ts'
import type { Failure } from '../failures/failure.ts'
import type { AnswerEvent, Finish } from '../neutral.ts'
import type { Usage } from '../tokens/usage.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import type { AnswerReader } from '../translated-dialect.ts'
import { readChatEvent, readCompletion, watchFinish } from './chunk.ts'
import type { ChatChunk, ChatEvent } from './chunk.ts'
import { makeChatParts } from './parts.ts'

type Needs = { readonly newId: NewId; readonly names: ToolNames }

/**
 * Makes a reader for a chat answer. A stream that ends without a finish reason and without `[DONE]` is a failure. Each
 * report of usage replaces the one before, because reports are cumulative.
 */
export function makeChatReader({ newId, names }: Needs): AnswerReader {
  const parts = makeChatParts({ newId, toTool: names.toTool })
  let started = false
  const finish = watchFinish()
  let stopSequence: string | null = null
  let usage: Usage | null = null

  const fail = (failure: Failure): AnswerEvent[] => [{ type: 'fail', failure, usage }]

  function takeChunk(chunk: ChatChunk): AnswerEvent[] {
    const events: AnswerEvent[] = started ? [] : [{ type: 'start' }]
    started = true
    finish.see(chunk)
    stopSequence = chunk.stopSequence ?? stopSequence
    usage = chunk.usage ?? usage
    return [...events, ...parts.push(chunk.delta)]
  }

  function complete(): AnswerEvent[] {
    if (!started) return fail(NOT_BEGUN)
    const reason = finish.reason() ?? ''
    if (GAVE_UP.has(reason)) return fail(answerFailed(`The backend gave up on its answer: ${reason}.`))
    const cut = CUT.has(reason)
    const closing = parts.end(cut)
    if (!cut && parts.hasNamelessCall()) return [...closing, ...fail(NAMELESS_CALL)]
    return [...closing, { type: 'finish', finish: judgeFinish(reason, stopSequence, parts.has), stopSequence, usage }]
  }

  function take(event: ChatEvent): AnswerEvent[] {
    if (event.kind === 'chunk') return takeChunk(event)
    if (event.kind === 'error') return fail(event.failure)
    return event.kind === 'done' ? complete() : []
  }

  return {
    push: (event) => take(readChatEvent(event)),
    whole: (body) => [...take(readCompletion(body)), ...take({ kind: 'done' })],
    end: () => (finish.reason() === null ? fail(ENDED_EARLY) : complete()),
    fail,
    isFinishing: finish.isFinishing,
  }
}

/** The reasons of an answer that its backend gave up. The last one is Google's, after a call that it could not read. */
const GAVE_UP: ReadonlySet<string> = new Set([
  ...['error', 'abort', 'aborted', 'network_error', 'insufficient_system_resource'],
  'function_call_filter',
])

/**
 * The reasons of an incomplete answer, in lower case; besides the vendor's own those of Mistral and Zhipu, and those
 * that gateways in front of other vendors pass on.
 */
const CUT: ReadonlyMap<string, Finish> = new Map([
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['incomplete', 'length'],
  ['model_length', 'context'],
  ['model_context_window_exceeded', 'context'],
  ['content_filter', 'filter'],
  ['sensitive', 'filter'],
])

function judgeFinish(reason: string, stopSequence: string | null, has: (kind: 'tool' | 'refusal') => boolean): Finish {
  const incomplete = CUT.get(reason)
  if (incomplete) return incomplete
  // Some engines report `stop` after a call. The agent would then stop instead of running its tools.
  if (has('tool')) return 'tools'
  if (has('refusal')) return 'refusal'
  return stopSequence === null ? 'stop' : 'stopSequence'
}
