import { isResponse } from '../answer-shapes.ts'
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
import type { AnswerEvent, AnswerUsage, Finish, OpenPart, PartEvent } from '../neutral.ts'
import { makePartQueue } from '../part-queue.ts'
import type { ToolNames } from '../tool-names.ts'

/** Items that only the client can carry out, and that no other dialect has. */
const CLIENT_RUN: ReadonlySet<unknown> = new Set([
  'apply_patch_call',
  'computer_call',
  'local_shell_call',
  'mcp_approval_request',
  'shell_call',
])

/**
 * Reads an answer of the responses dialect. An item that is done holds all of itself, so that what the deltas lacked is added then. Items
 * that the vendor runs itself, and events that are unknown here, are skipped.
 */
export function makeResponsesReader({ names }: { readonly names: ToolNames }): AnswerReader {
  const parts = makePartQueue()
  const summaries = new Map<string, number>()
  let started = false
  let over = false

  function failWith(failure: Failure, usage: AnswerUsage | null = null): AnswerEvent[] {
    if (over) return []
    over = true
    return [{ type: 'fail', failure, usage }]
  }

  function start(): AnswerEvent[] {
    if (started) return []
    started = true
    return [{ type: 'start' }]
  }

  function openItem(index: string, item: Json): PartEvent[] {
    const part = toPart(item, names)
    return part ? parts.open(index, part) : []
  }

  /** Parts of a message have a place within their item. */
  function openContent(key: string, part: Json): PartEvent[] {
    if (part.type === 'output_text') return parts.open(key, { kind: 'text' })
    return part.type === 'refusal' ? parts.open(key, { kind: 'refusal' }) : []
  }

  function takeSummary(index: string, event: Json): PartEvent[] {
    const place = readCount(event.summary_index) ?? 0
    const before = summaries.get(index) ?? place
    summaries.set(index, place)
    return parts.delta(index, (place > before ? '\n\n' : '') + readText(event.delta))
  }

  function closeItem(index: string, item: Json): PartEvent[] {
    const cut = item.status === 'incomplete'
    if (item.type !== 'message') {
      const opened = parts.knows(index) ? [] : openItem(index, item)
      return [...opened, ...parts.close(index, { cut, ...toEnd(item) })]
    }
    return readList(item.content)
      .map(readObject)
      .flatMap((part, at) => {
        const key = `${index}.${String(at)}`
        const text = readText(part.text) + readText(part.refusal)
        return [...openContent(key, part), ...parts.close(key, { cut, text })]
      })
  }

  function complete(response: Json): AnswerEvent[] {
    if (over) return []
    const usage = toUsage(response.usage)
    const reason = readName(readObject(response.incomplete_details).reason)
    const isIncomplete = response.status === 'incomplete'
    // An end that holds items which no event told of is the whole answer.
    const rest = readList(response.output).flatMap((item, at) => closeItem(String(at), readObject(item)))
    const closing = [...start(), ...rest, ...parts.end(isIncomplete)]
    if (isIncomplete && !CUT.has(reason ?? '')) {
      return [...closing, ...failWith(backendFailed('The backend ended its answer without saying why.'), usage)]
    }
    over = true
    const finish: Finish = isIncomplete ? (CUT.get(reason ?? '') ?? 'length') : judgeFinish(parts.has)
    return [...closing, { type: 'finish', finish, stopSequence: null, usage }]
  }

  function take(event: Json): AnswerEvent[] {
    if (over) return []
    const index = String(event.output_index)
    const key = `${index}.${String(readCount(event.content_index) ?? 0)}`
    const item = readObject(event.item)
    switch (event.type) {
      case 'response.created':
      case 'response.in_progress':
        return start()
      case 'response.output_item.added':
        if (CLIENT_RUN.has(item.type)) return failWith(unknownCall(item))
        return [...start(), ...openItem(index, item)]
      case 'response.content_part.added':
        return openContent(key, readObject(event.part))
      case 'response.output_text.delta':
        return [...openContent(key, { type: 'output_text' }), ...parts.delta(key, readText(event.delta))]
      case 'response.refusal.delta':
        return [...openContent(key, { type: 'refusal' }), ...parts.delta(key, readText(event.delta))]
      case 'response.reasoning_summary_text.delta':
        return takeSummary(index, event)
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return parts.delta(index, readText(event.delta))
      case 'response.output_item.done':
        if (CLIENT_RUN.has(item.type)) return failWith(unknownCall(item))
        return [...start(), ...closeItem(index, item)]
      case 'response.completed':
      case 'response.incomplete':
        return complete(readObject(event.response))
      case 'response.failed': {
        const response = readObject(event.response)
        return failWith(readFailure(response.error ?? response), toUsage(response.usage))
      }
      case 'error':
        return failWith(readFailure(event))
      default:
        return event.type === undefined && event.error !== undefined ? failWith(readFailure(event)) : []
    }
  }

  return {
    push({ event, data }) {
      const body = parseObject(data)
      if (body) return take(body.type === undefined && event !== null ? { ...body, type: event } : body)
      return data.trim() === '[DONE]' ? [] : failWith(backendFailed('The backend sent an event that is not JSON.'))
    },
    whole(body) {
      if (!isObject(body) || !isResponse(body)) return failWith(readWholeFailure(body))
      const type = body.status === 'failed' || body.error ? 'response.failed' : 'response.completed'
      const foreign = readList(body.output)
        .map(readObject)
        .find(({ type }) => CLIENT_RUN.has(type))
      return [...start(), ...(foreign ? failWith(unknownCall(foreign)) : take({ type, response: body }))]
    },
    end: () => failWith(backendFailed('The backend ended its answer too early.')),
    fail: (failure) => failWith(failure),
  }
}

function readWholeFailure(body: unknown): Failure {
  return isObject(body) && body.error !== undefined
    ? readFailure(body)
    : backendFailed('The backend did not answer with a response.')
}

function unknownCall(item: Json): Failure {
  return backendFailed(`The model made a call of the type ${String(item.type)}, which this client cannot carry out.`)
}

function toPart(item: Json, names: ToolNames): OpenPart | null {
  switch (item.type) {
    case 'reasoning':
      return { kind: 'reasoning' }
    case 'function_call':
    case 'custom_tool_call':
      return { kind: 'tool', id: readText(item.call_id), tool: names.toTool(readText(item.name)) }
    default:
      return null
  }
}

/** What an item that is done says of itself. */
function toEnd(item: Json) {
  if (item.type !== 'reasoning') return { text: readText(item.arguments) + readText(item.input) }
  const data = readName(item.encrypted_content)
  const summary = readList(item.summary).length > 0 ? item.summary : item.content
  const text = readList(summary)
    .map((part) => readText(readObject(part).text))
    .join('\n\n')
  return { text, seal: data === null ? null : ({ kind: 'encrypted', data, before: null } as const) }
}

const CUT: ReadonlyMap<string, Finish> = new Map([
  ['max_output_tokens', 'length'],
  ['content_filter', 'filter'],
])

function judgeFinish(has: (kind: OpenPart['kind']) => boolean): Finish {
  if (has('tool')) return 'tools'
  return has('refusal') ? 'refusal' : 'stop'
}

function toUsage(value: unknown): AnswerUsage | null {
  if (!isObject(value)) return null
  const input = readObject(value.input_tokens_details)
  const written = readObject(input.cache_write_tokens_details)
  return {
    input: readCount(value.input_tokens) ?? 0,
    cached: readCount(input.cached_tokens) ?? 0,
    written: readCount(input.cache_write_tokens) ?? 0,
    writtenLong: readCount(written.ttl_12h_tokens) ?? 0,
    output: readCount(value.output_tokens) ?? 0,
    reasoning: readCount(readObject(value.output_tokens_details).reasoning_tokens) ?? 0,
  }
}
