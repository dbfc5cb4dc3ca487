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
import type { ToolNames } from '../tool-names.ts'

/**
 * Reads an answer of the messages dialect. Usage is set by each report, never added up. A call is closed only when the next event tells
 * whether a limit cut it off. Blocks that the vendor runs itself, and events that are unknown here, are skipped.
 */
export function makeMessagesReader({ names }: { readonly names: ToolNames }): AnswerReader {
  const parts = makePartQueue()
  const signatures = new Map<string, AnswerSeal>()
  let usage: Json = {}
  let reason: string | null = null
  let stopSequence: string | null = null
  let explanation: string | null = null
  let started = false
  let over = false
  let unclosed: string | null = null

  function failWith(failure: Failure): AnswerEvent[] {
    if (over) return []
    over = true
    return [{ type: 'fail', failure, usage: toUsage(usage) }]
  }

  function closeCall(): AnswerEvent[] {
    const key = unclosed
    unclosed = null
    return key === null ? [] : parts.close(key, { cut: reason !== null && CUT.has(reason) })
  }

  function openBlock(key: string, block: Json): AnswerEvent[] {
    const before = closeCall()
    if (block.type === 'redacted_thinking') {
      signatures.set(key, { kind: 'redacted', data: readText(block.data), before: null })
    }
    const part = toPart(block, names)
    if (!part) return before
    const text = readText(block.text) + readText(block.thinking)
    return [...before, ...parts.open(key, part), ...parts.delta(key, text)]
  }

  function takeDelta(key: string, delta: Json): AnswerEvent[] {
    switch (delta.type) {
      case 'text_delta':
        return parts.delta(key, readText(delta.text))
      case 'thinking_delta':
        return parts.delta(key, readText(delta.thinking))
      case 'input_json_delta':
        return parts.delta(key, readText(delta.partial_json))
      case 'signature_delta':
        // The last one counts.
        signatures.set(key, { kind: 'signed', data: readText(delta.signature), before: null })
        return []
      default:
        return []
    }
  }

  function closeBlock(key: string, isCall: boolean): AnswerEvent[] {
    if (!isCall) return parts.close(key, { seal: signatures.get(key) ?? null })
    unclosed = key
    return []
  }

  function takeEnd({ delta, usage: counts }: Json): AnswerEvent[] {
    const end = readObject(delta)
    usage = { ...usage, ...withoutNulls(readObject(counts)) }
    reason = readName(end.stop_reason) ?? reason
    stopSequence = readName(end.stop_sequence) ?? stopSequence
    explanation = readName(readObject(end.stop_details).explanation) ?? explanation
    return reason === null ? [] : closeCall()
  }

  function complete(): AnswerEvent[] {
    if (over) return []
    const told = reason === 'refusal' && !parts.has('text') && explanation !== null ? explain(explanation) : []
    const closing = [...closeCall(), ...parts.end(reason !== null && CUT.has(reason)), ...told]
    over = true
    const finish = judgeFinish(reason, parts.has('tool'))
    return [...closing, { type: 'finish', finish, stopSequence, usage: toUsage(usage) }]
  }

  function explain(text: string): AnswerEvent[] {
    return [...parts.open('refusal', { kind: 'text' }), ...parts.delta('refusal', text), ...parts.close('refusal')]
  }

  const calls = new Set<string>()

  function take(event: Json): AnswerEvent[] {
    if (over) return []
    const key = String(event.index)
    switch (event.type) {
      case 'message_start':
        usage = withoutNulls(readObject(readObject(event.message).usage))
        if (started) return []
        started = true
        return [{ type: 'start' }]
      case 'content_block_start': {
        const block = readObject(event.content_block)
        if (block.type === 'tool_use') calls.add(key)
        if (readName(block.signature) !== null) {
          signatures.set(key, { kind: 'signed', data: readText(block.signature), before: null })
        }
        return openBlock(key, block)
      }
      case 'content_block_delta':
        return takeDelta(key, readObject(event.delta))
      case 'content_block_stop':
        return closeBlock(key, calls.has(key))
      case 'message_delta':
        return takeEnd(event)
      case 'message_stop':
        return complete()
      case 'error':
        return failWith(readFailure(event))
      default:
        return isObject(event.error) ? failWith(readFailure(event)) : []
    }
  }

  return {
    push({ event, data }) {
      const body = parseObject(data)
      if (body) return take(body.type === undefined && event !== null ? { ...body, type: event } : body)
      return data.trim() === '[DONE]' ? [] : failWith(backendFailed('The backend sent an event that is not JSON.'))
    },
    whole: (body) => {
      if (!isObject(body) || !isMessage(body)) return failWith(readWholeFailure(body))
      return replay(body).flatMap(take)
    },
    end: () => failWith(backendFailed('The backend ended its answer too early.')),
    fail: failWith,
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
