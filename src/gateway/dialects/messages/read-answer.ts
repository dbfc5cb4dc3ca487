import { isMessage } from '../answer-shapes.ts'
import { backendFailed, type Failure, readFailure } from '../failure.ts'
import type { AnswerReader } from '../hub.ts'
import {
  isObject,
  type Json,
  parseObject,
  readCount,
  readList,
  readName,
  readObject,
  readText,
} from '../json/read-json.ts'
import type { AnswerEvent, AnswerSeal, AnswerUsage, Finish, OpenPart } from '../neutral.ts'
import { makePartQueue } from '../part-queue.ts'
import type { SseEvent } from '../sse/decode.ts'
import type { ToolNames } from '../tool-names.ts'

/**
 * Reads an answer of the messages dialect. Usage is set by each report, never added up. A call is closed only when the
 * next event tells whether a limit cut it off. Blocks that the vendor runs itself, and events that are unknown here,
 * are skipped.
 */
export function makeMessagesReader({ names }: Needs): AnswerReader {
  return new MessagesReader(names)
}

type Needs = { readonly names: ToolNames }

class MessagesReader implements AnswerReader {
  readonly #names: ToolNames
  readonly #parts = makePartQueue()
  readonly #signatures = new Map<string, AnswerSeal>()
  readonly #calls = new Set<string>()
  #usage: Json = {}
  #reason: string | null = null
  #stopSequence: string | null = null
  #explanation: string | null = null
  #started = false
  #over = false
  /** A call that has ended and is not closed yet. */
  #unclosed: string | null = null

  constructor(names: ToolNames) {
    this.#names = names
  }

  push({ event, data }: SseEvent): AnswerEvent[] {
    const body = parseObject(data)
    if (body) return this.#take(body.type === undefined && event !== null ? { ...body, type: event } : body)
    return data.trim() === '[DONE]' ? [] : this.fail(backendFailed('The backend sent an event that is not JSON.'))
  }

  whole(body: unknown): AnswerEvent[] {
    if (!isObject(body) || !isMessage(body)) return this.fail(readWholeFailure(body))
    return replay(body).flatMap((event) => this.#take(event))
  }

  end(): AnswerEvent[] {
    return this.fail(backendFailed('The backend ended its answer too early.'))
  }

  fail(failure: Failure): AnswerEvent[] {
    if (this.#over) return []
    this.#over = true
    return [{ type: 'fail', failure, usage: toUsage(this.#usage) }]
  }

  #closeCall(): AnswerEvent[] {
    const key = this.#unclosed
    this.#unclosed = null
    return key === null ? [] : this.#parts.close(key, { cut: this.#reason !== null && CUT.has(this.#reason) })
  }

  #openBlock(key: string, block: Json): AnswerEvent[] {
    const before = this.#closeCall()
    if (block.type === 'redacted_thinking') {
      this.#signatures.set(key, { kind: 'redacted', data: readText(block.data), before: null })
    }
    const part = toPart(block, this.#names)
    if (!part) return before
    const text = readText(block.text) + readText(block.thinking)
    return [...before, ...this.#parts.open(key, part), ...this.#parts.delta(key, text)]
  }

  #takeDelta(key: string, delta: Json): AnswerEvent[] {
    switch (delta.type) {
      case 'text_delta':
        return this.#parts.delta(key, readText(delta.text))
      case 'thinking_delta':
        return this.#parts.delta(key, readText(delta.thinking))
      case 'input_json_delta':
        return this.#parts.delta(key, readText(delta.partial_json))
      case 'signature_delta':
        // The last one counts.
        this.#signatures.set(key, { kind: 'signed', data: readText(delta.signature), before: null })
        return []
      default:
        return []
    }
  }

  #closeBlock(key: string, isCall: boolean): AnswerEvent[] {
    if (!isCall) return this.#parts.close(key, { seal: this.#signatures.get(key) ?? null })
    this.#unclosed = key
    return []
  }

  #takeEnd({ delta, usage: counts }: Json): AnswerEvent[] {
    const end = readObject(delta)
    this.#usage = { ...this.#usage, ...withoutNulls(readObject(counts)) }
    this.#reason = readName(end.stop_reason) ?? this.#reason
    this.#stopSequence = readName(end.stop_sequence) ?? this.#stopSequence
    this.#explanation = readName(readObject(end.stop_details).explanation) ?? this.#explanation
    return this.#reason === null ? [] : this.#closeCall()
  }

  #complete(): AnswerEvent[] {
    if (this.#over) return []
    const told = this.#reason === 'refusal' && !this.#parts.has('text') ? this.#explain(this.#explanation ?? '') : []
    const closing = [...this.#closeCall(), ...this.#parts.end(this.#reason !== null && CUT.has(this.#reason)), ...told]
    this.#over = true
    const finish = judgeFinish(this.#reason, this.#parts.has('tool'))
    return [...closing, { type: 'finish', finish, stopSequence: this.#stopSequence, usage: toUsage(this.#usage) }]
  }

  #explain(text: string): AnswerEvent[] {
    return [
      ...this.#parts.open('refusal', { kind: 'text' }),
      ...this.#parts.delta('refusal', text),
      ...this.#parts.close('refusal'),
    ]
  }

  #take(event: Json): AnswerEvent[] {
    if (this.#over) return []
    const key = String(event.index)
    switch (event.type) {
      case 'message_start':
        this.#usage = withoutNulls(readObject(readObject(event.message).usage))
        if (this.#started) return []
        this.#started = true
        return [{ type: 'start' }]
      case 'content_block_start': {
        const block = readObject(event.content_block)
        if (block.type === 'tool_use') this.#calls.add(key)
        if (readName(block.signature) !== null) {
          this.#signatures.set(key, { kind: 'signed', data: readText(block.signature), before: null })
        }
        return this.#openBlock(key, block)
      }
      case 'content_block_delta':
        return this.#takeDelta(key, readObject(event.delta))
      case 'content_block_stop':
        return this.#closeBlock(key, this.#calls.has(key))
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

function readWholeFailure(body: unknown): Failure {
  return isObject(body) && body.error !== undefined
    ? readFailure(body)
    : backendFailed('The backend did not answer with a message.')
}

function toPart(block: Json, names: ToolNames): OpenPart | null {
  switch (block.type) {
    case 'text':
      return { kind: 'text' }
    case 'thinking':
    case 'redacted_thinking':
      return { kind: 'reasoning' }
    case 'tool_use':
      return { kind: 'tool', id: readText(block.id), tool: names.toTool(readText(block.name)) }
    default:
      return null
  }
}

/** The events of a stream that would have said the same. */
function replay(message: Json): Json[] {
  const { stop_reason, stop_sequence, stop_details, usage } = message
  const blocks = readList(message.content).map(readObject)
  return [
    { type: 'message_start', message },
    ...blocks.flatMap((block, index): Json[] => {
      const delta = { type: 'input_json_delta', partial_json: JSON.stringify(block.input ?? {}) }
      const args = block.type === 'tool_use' ? [{ type: 'content_block_delta', index, delta }] : []
      return [
        { type: 'content_block_start', index, content_block: block },
        ...args,
        { type: 'content_block_stop', index },
      ]
    }),
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
  ['refusal', 'filter'],
  ['pause_turn', 'pause'],
])

function judgeFinish(reason: string | null, hasCalls: boolean): Finish {
  const finish = FINISHES.get(reason ?? '') ?? 'stop'
  return finish === 'stop' && hasCalls ? 'tools' : finish
}

function withoutNulls(counts: Json): Json {
  return Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== null && value !== undefined))
}

/** Null until the backend has reported any. */
function toUsage(usage: Json): AnswerUsage | null {
  if (Object.keys(usage).length === 0) return null
  const count = (value: unknown): number => readCount(value) ?? 0
  const cached = count(usage.cache_read_input_tokens)
  const written = count(usage.cache_creation_input_tokens)
  return {
    input: count(usage.input_tokens) + cached + written,
    cached,
    written,
    writtenLong: count(readObject(usage.cache_creation).ephemeral_1h_input_tokens),
    output: count(usage.output_tokens),
    reasoning: count(readObject(usage.output_tokens_details).thinking_tokens),
  }
}
