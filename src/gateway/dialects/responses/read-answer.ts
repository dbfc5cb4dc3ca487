import { isObject } from '../../../kernel/json.ts'
import { isResponse } from '../answer-shapes.ts'
import type { NewId } from '../dialect.ts'
import { answerFailed, ENDED_EARLY, NAMELESS_CALL, NOT_JSON, readFailure, readMisshapen } from '../failures/failure.ts'
import type { Failure } from '../failures/failure.ts'
import { readArguments, readCount, readList, readName, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { AnswerEvent, Finish, OpenPart, PartEvent } from '../neutral.ts'
import { readUrlCitations } from '../parts/citations.ts'
import { makePartQueue } from '../parts/part-queue.ts'
import type { GivenEnd, PartQueue } from '../parts/part-queue.ts'
import type { SseEvent } from '../sse/decode.ts'
import { readTypedEvent } from '../sse/typed-event.ts'
import { readUsage } from '../tokens/usage.ts'
import type { Usage } from '../tokens/usage.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import type { AnswerReader } from '../translated-dialect.ts'
import { foreignCall, isForeignCall } from './foreign-calls.ts'
import { contentKeyOf, KnownItems, noteContent, toContentKey } from './known-items.ts'
import type { ContentType, KnownItem } from './known-items.ts'

/** The events of one item that are read. */
const ITEM_EVENT =
  /^response\.(?:output_item|content_part|output_text|refusal|reasoning|function_call|custom_tool_call)/

/** A response with one of these statuses is not over, or was given up. */
const UNFINISHED: ReadonlySet<unknown> = new Set(['queued', 'in_progress', 'cancelled'])

type Needs = { readonly newId: NewId; readonly names: ToolNames }

/**
 * Reads an answer of the responses dialect. A `done` event has the whole item, so text that was missing in the deltas
 * is added then. Unknown events, and items of tools that the vendor runs, are skipped.
 */
export class ResponsesReader implements AnswerReader {
  readonly #names: ToolNames
  readonly #parts: PartQueue<string>
  readonly #items = new KnownItems()
  /** The form and the index of the current part of a reasoning item. */
  readonly #reasoning = new Map<string, { readonly form: ReasoningForm; readonly place: number }>()
  /** The whole text of a part, which its own last event repeats. Needed where its item has no last event. */
  readonly #given = new Map<string, string>()
  #started = false
  /** Whether there was an event of an item. */
  #hasItems = false

  constructor({ newId, names }: Needs) {
    this.#names = names
    this.#parts = makePartQueue(newId)
  }

  push(event: SseEvent): AnswerEvent[] {
    const body = readTypedEvent(event)
    if (body === 'not_json') return this.fail(NOT_JSON)
    return body ? this.#take(body) : []
  }

  whole(body: unknown): AnswerEvent[] {
    if (!isObject(body) || !isResponse(body)) return this.fail(readMisshapen(body, 'response'))
    const items = readList(body.output).map(readObject)
    const foreign = items.find(isForeignCall)
    if (foreign) return this.fail(foreignCall(foreign))
    if (UNFINISHED.has(body.status)) return this.fail(answerFailed('The backend did not finish its answer.'))
    const type = body.status === 'failed' || body.error ? 'response.failed' : 'response.completed'
    return [...this.#start(), ...this.#take({ type, response: body })]
  }

  end(): AnswerEvent[] {
    return this.fail(ENDED_EARLY)
  }

  fail(failure: Failure, usage: Usage | null = null): AnswerEvent[] {
    return [{ type: 'fail', failure, usage }]
  }

  #start(): AnswerEvent[] {
    if (this.#started) return []
    this.#started = true
    return [{ type: 'start' }]
  }

  /** Starts the answer before its first part, because some servers leave out `response.created`. */
  #begin(events: AnswerEvent[]): AnswerEvent[] {
    const [first] = events
    return first && first.type !== 'fail' ? [...this.#start(), ...events] : events
  }

  #openItem(key: string, item: Json): PartEvent[] {
    const part = toPart(item, this.#names)
    return part ? this.#parts.open(key, part) : []
  }

  #openContent(key: string, type: ContentType): PartEvent[] {
    return this.#parts.open(key, { kind: type === 'refusal' ? 'refusal' : 'text' })
  }

  /** Reads a summary or the reasoning itself. Where an item has both, the one that comes first is shown. */
  #takeReasoning(key: string, form: ReasoningForm, event: Json): PartEvent[] {
    const place = readCount(event[`${form}_index`]) ?? 0
    const before = this.#reasoning.get(key) ?? { form, place }
    if (before.form !== form) return []
    this.#reasoning.set(key, { form, place })
    const isNext = form === 'summary' && place > before.place
    return this.#parts.delta(key, (isNext ? '\n\n' : '') + readText(event.delta))
  }

  #closeItem(key: string, item: Json): PartEvent[] {
    const cut = item.status === 'incomplete'
    if (item.type !== 'message') {
      return [...this.#openItem(key, item), ...this.#parts.close(key, { cut, ...toEnd(item) })]
    }
    const places = { output_text: 0, refusal: 0 }
    return readList(item.content)
      .map(readObject)
      .flatMap((content) => {
        const { type } = content
        if (type !== 'output_text' && type !== 'refusal') return []
        const contentKey = toContentKey(key, type, places[type]++)
        return [
          ...this.#openContent(contentKey, type),
          ...this.#parts.close(contentKey, { cut, ...toContentEnd(content) }),
        ]
      })
  }

  #complete(response: Json, isIncomplete: boolean): AnswerEvent[] {
    const usage = readUsage(response.usage)
    const reason = readName(readObject(response.incomplete_details).reason)
    for (const item of readList(response.output).map(readObject)) this.#noteArguments(item)
    const given = [...this.#given].flatMap(([key, text]) => this.#parts.close(key, { text, cut: isIncomplete }))
    const ended = [...this.#start(), ...given, ...this.#parts.end(isIncomplete)]
    const missed = readList(response.output).map(readObject).filter(this.#isMissed)
    const closing = [...ended, ...missed.flatMap((item, at) => this.#closeItem(`missed ${at}`, item))]
    if (isIncomplete && !CUT.has(reason ?? '')) {
      return [...closing, ...this.fail(answerFailed('The backend ended its answer without saying why.'), usage)]
    }
    if (!isIncomplete && this.#parts.hasNamelessCall()) return [...closing, ...this.fail(NAMELESS_CALL, usage)]
    const finish: Finish = isIncomplete ? (CUT.get(reason ?? '') ?? 'length') : judgeFinish(this.#parts.has)
    return [...closing, { type: 'finish', finish, stopSequence: null, usage }]
  }

  /** Notes the arguments of a call that has begun, and has them in the last event of the answer only. */
  #noteArguments(item: Json): void {
    const key = this.#items.openKeyOf(item)
    const isCall = toPart(item, this.#names)?.kind === 'tool'
    if (key !== null && isCall && !this.#given.has(key)) this.#given.set(key, toEnd(item).text ?? '')
  }

  /** Whether an item is in the last event only. Its id may be another one there, so its kind decides. */
  readonly #isMissed = (item: Json): boolean => {
    if (!this.#hasItems) return true
    if (item.type === 'message') return !this.#parts.has('text') && !this.#parts.has('refusal')
    return toPart(item, this.#names)?.kind === 'tool' && !this.#parts.has('tool')
  }

  #take(event: Json): AnswerEvent[] {
    const response = readObject(event.response)
    switch (event.type) {
      case 'response.created':
      case 'response.in_progress':
        return this.#start()
      case 'response.completed':
      case 'response.incomplete':
        return this.#complete(response, event.type === 'response.incomplete' || response.status === 'incomplete')
      case 'response.failed':
        return this.fail(readFailure(response.error ?? response), readUsage(response.usage))
      case 'error':
        return this.fail(readFailure(event))
      default:
        if (event.type === undefined && event.error !== undefined) return this.fail(readFailure(event))
        return this.#begin(this.#takePart(event))
    }
  }

  #takePart(event: Json): AnswerEvent[] {
    if (!ITEM_EVENT.test(readText(event.type))) return []
    this.#hasItems = true
    const item = this.#items.itemOf(event)
    const { key } = item
    switch (event.type) {
      case 'response.output_item.added':
      case 'response.output_item.done':
        return this.#takeItem(event.type === 'response.output_item.done', key, readObject(event.item))
      case 'response.content_part.added':
        noteContent(item, event)
        return []
      case 'response.output_text.delta':
        return this.#takeText(item, 'output_text', event)
      case 'response.refusal.delta':
        return this.#takeText(item, 'refusal', event)
      case 'response.reasoning_summary_text.delta':
        return this.#takeReasoning(key, 'summary', event)
      case 'response.reasoning_text.delta':
        return this.#takeReasoning(key, 'content', event)
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#parts.delta(key, readText(event.delta))
      case 'response.output_text.done':
        return this.#takeGivenText(item, event)
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.done':
        this.#given.set(key, readArguments(event.arguments) + readText(event.input))
        return []
      default:
        return []
    }
  }

  #takeItem(isDone: boolean, key: string, item: Json): AnswerEvent[] {
    if (isForeignCall(item)) return this.fail(foreignCall(item))
    return isDone ? this.#closeItem(key, item) : this.#openItem(key, item)
  }

  #takeText(item: KnownItem, type: ContentType, event: Json): PartEvent[] {
    const key = contentKeyOf(item, event, type)
    return [...this.#openContent(key, type), ...this.#parts.delta(key, readText(event.delta), readList(event.logprobs))]
  }

  #takeGivenText(item: KnownItem, event: Json): PartEvent[] {
    const key = contentKeyOf(item, event, 'output_text')
    this.#given.set(key, readText(event.text))
    return this.#openContent(key, 'output_text')
  }
}

/** A reasoning item has summaries, or its own text as content. */
type ReasoningForm = 'summary' | 'content'

function toPart(item: Json, names: ToolNames): OpenPart | null {
  switch (item.type) {
    case 'reasoning':
      return { kind: 'reasoning' }
    case 'web_search_call':
      return { kind: 'search' }
    case 'function_call':
    case 'custom_tool_call':
      return { kind: 'tool', id: readText(item.call_id), tool: names.toTool(readText(item.name)) }
    default:
      return null
  }
}

/** Reads the whole text of a content of a message that is done. */
function toContentEnd({ text, refusal, annotations, logprobs }: Json): GivenEnd {
  const citations = readUrlCitations(annotations)
  return {
    text: readText(text) + readText(refusal),
    logprobs: readList(logprobs),
    ...(citations.length > 0 && { citations }),
  }
}

/** Reads the whole text and the seal of an item that is done. */
function toEnd(item: Json): GivenEnd {
  if (item.type === 'web_search_call') return toSearchEnd(readObject(item.action))
  if (item.type !== 'reasoning') return { text: readArguments(item.arguments) + readText(item.input) }
  const data = readName(item.encrypted_content)
  const summary = readList(item.summary).length > 0 ? item.summary : item.content
  const text = readList(summary)
    .map((part) => readText(readObject(part).text))
    .join('\n\n')
  return { text, seal: data === null ? null : ({ kind: 'encrypted', data, before: null } as const) }
}

function toSearchEnd({ query, queries, url, sources }: Json): GivenEnd {
  const found = readList(sources).flatMap((source) => readName(readObject(source).url) ?? [])
  const text = readName(query) ?? readName(readList(queries)[0]) ?? readText(url)
  return { text, found: found.map((page) => ({ url: page, title: null })) }
}

const CUT: ReadonlyMap<string, Finish> = new Map([
  ['max_output_tokens', 'length'],
  ['content_filter', 'filter'],
])

function judgeFinish(has: (kind: OpenPart['kind']) => boolean): Finish {
  if (has('tool')) return 'tools'
  return has('refusal') ? 'refusal' : 'stop'
}
