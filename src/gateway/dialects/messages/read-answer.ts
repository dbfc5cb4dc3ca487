import { isObject } from '../../../kernel/json.ts'
import { isMessage } from '../answer-shapes.ts'
import type { NewId } from '../dialect.ts'
import { ENDED_EARLY, NAMELESS_CALL, NOT_BEGUN, NOT_JSON, readFailure, readMisshapen } from '../failures/failure.ts'
import type { Failure } from '../failures/failure.ts'
import { readList, readName, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { AnswerEvent, Finish } from '../neutral.ts'
import { makePartQueue } from '../parts/part-queue.ts'
import type { PartQueue } from '../parts/part-queue.ts'
import type { SseEvent } from '../sse/decode.ts'
import { readTypedEvent } from '../sse/typed-event.ts'
import { toCounts, toUsage, withLaterReport } from '../tokens/usage.ts'
import type { Counts, Usage } from '../tokens/usage.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import type { AnswerReader } from '../translated-dialect.ts'
import { AnswerBlockReader } from './read-answer-blocks.ts'

type Needs = { readonly newId: NewId; readonly names: ToolNames }

/**
 * Reads an answer of the messages dialect. Each report of usage replaces the one before. A tool call is closed only at
 * the next event, which shows whether a limit cut it off. Unknown events, and blocks of tools that the vendor runs, are
 * skipped.
 */
export class MessagesReader implements AnswerReader {
  readonly #parts: PartQueue<string>
  readonly #blocks: AnswerBlockReader
  /** The key of the latest block of each index. Ollama gives several blocks one index (ollama/ollama#17101). */
  readonly #keys = new Map<unknown, string>()
  #opened = 0
  #counts: Counts = {}
  #reason: string | null = null
  #stopSequence: string | null = null
  #explanation: string | null = null
  #started = false

  constructor({ newId, names }: Needs) {
    this.#parts = makePartQueue(newId)
    this.#blocks = new AnswerBlockReader(this.#parts, names)
  }

  push(event: SseEvent): AnswerEvent[] {
    const body = readTypedEvent(event)
    if (body === 'not_json') return this.fail(NOT_JSON)
    return body ? this.#take(body) : []
  }

  whole(body: unknown): AnswerEvent[] {
    if (!isObject(body) || !isMessage(body)) return this.fail(readMisshapen(body, 'message'))
    return replay(body).flatMap((event) => this.#take(event))
  }

  end(): AnswerEvent[] {
    return this.fail(ENDED_EARLY)
  }

  fail(failure: Failure): AnswerEvent[] {
    return [{ type: 'fail', failure, usage: this.#usage() }]
  }

  /** Null when the backend has not reported any usage. */
  #usage(): Usage | null {
    return Object.keys(this.#counts).length === 0 ? null : toUsage(this.#counts)
  }

  #takeEnd({ delta, usage }: Json): AnswerEvent[] {
    const end = readObject(delta)
    this.#counts = withLaterReport(this.#counts, toCounts(usage))
    this.#reason = readName(end.stop_reason) ?? this.#reason
    this.#stopSequence = readName(end.stop_sequence) ?? this.#stopSequence
    this.#explanation = readName(readObject(end.stop_details).explanation) ?? this.#explanation
    return this.#reason === null ? [] : this.#closeCall()
  }

  #complete(): AnswerEvent[] {
    if (!this.#started) return this.fail(NOT_BEGUN)
    const isCut = this.#isCut()
    const explained =
      this.#reason === 'refusal' && !this.#parts.has('text') ? this.#explain(this.#explanation ?? '') : []
    const closing = [...this.#closeCall(), ...this.#parts.end(isCut), ...explained]
    if (!isCut && this.#parts.hasNamelessCall()) return [...closing, ...this.fail(NAMELESS_CALL)]
    const finish = judgeFinish(this.#reason, this.#parts.has('tool'))
    return [...closing, { type: 'finish', finish, stopSequence: this.#stopSequence, usage: this.#usage() }]
  }

  #isCut(): boolean {
    return this.#reason !== null && CUT.has(this.#reason)
  }

  #closeCall(): AnswerEvent[] {
    return this.#blocks.closeCall(this.#isCut())
  }

  #explain(text: string): AnswerEvent[] {
    return [
      ...this.#parts.open('refusal', { kind: 'text' }),
      ...this.#parts.delta('refusal', text),
      ...this.#parts.close('refusal'),
    ]
  }

  #start(): AnswerEvent[] {
    if (this.#started) return []
    this.#started = true
    return [{ type: 'start' }]
  }

  #open({ index, content_block: block }: Json): AnswerEvent[] {
    const closing = this.#blocks.close(this.#keyOf(index))
    const key = String(this.#opened++)
    this.#keys.set(index, key)
    return [...this.#start(), ...closing, ...this.#closeCall(), ...this.#blocks.open(key, readObject(block))]
  }

  #keyOf(index: unknown): string {
    return this.#keys.get(index) ?? ''
  }

  #take(event: Json): AnswerEvent[] {
    switch (event.type) {
      case 'message_start':
        this.#counts = toCounts(readObject(event.message).usage)
        return this.#start()
      case 'content_block_start':
        return this.#open(event)
      case 'content_block_delta':
        return this.#blocks.delta(this.#keyOf(event.index), readObject(event.delta))
      case 'content_block_stop':
        return this.#blocks.close(this.#keyOf(event.index))
      case 'message_delta':
        return this.#takeEnd(event)
      case 'message_stop':
        return this.#complete()
      case 'error':
        return this.fail(readFailure(event))
      default:
        return isObject(event.error) ? this.fail(readFailure(event)) : []
    }
  }
}

/** Returns the events of a stream with the same content as a whole message. */
function replay(message: Json): Json[] {
  const { stop_reason, stop_sequence, stop_details, usage } = message
  const blocks = readList(message.content).map(readObject)
  return [
    { type: 'message_start', message },
    ...blocks.flatMap((block, index): Json[] => [
      { type: 'content_block_start', index, content_block: block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason, stop_sequence, stop_details }, usage },
    { type: 'message_stop' },
  ]
}

const CUT: ReadonlySet<string> = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal'])

const FINISHES: ReadonlyMap<string, Finish> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stopSequence'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'context'],
  ['tool_use', 'tools'],
  ['refusal', 'blocked'],
  ['pause_turn', 'pause'],
])

function judgeFinish(reason: string | null, hasCalls: boolean): Finish {
  const finish = FINISHES.get(reason ?? '') ?? 'stop'
  if (finish === 'tools' && !hasCalls) return 'stop'
  return finish === 'stop' && hasCalls ? 'tools' : finish
}
