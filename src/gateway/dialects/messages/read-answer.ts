import { isMessage } from '../answer-shapes.ts'
import { backendFailed, ENDED_EARLY, NAMELESS_CALL, NOT_BEGUN, NOT_JSON, readFailure } from '../failures/failure.ts'
import type { Failure } from '../failures/failure.ts'
import type { NewId } from '../dialect.ts'
import type { AnswerReader } from '../hub.ts'
import { isObject, parseObject, readCount, readList, readName, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { AnswerEvent, AnswerSeal, AnswerUsage, Citation, Finish, OpenPart, WebPage } from '../neutral.ts'
import { makePartQueue } from '../parts/part-queue.ts'
import type { PartQueue } from '../parts/part-queue.ts'
import type { SseEvent } from '../sse/decode.ts'
import { readTypedEvent } from '../sse/typed-event.ts'
import type { ToolNames } from '../tools/tool-names.ts'

/**
 * Makes a reader for an answer of the messages dialect. Each report of usage replaces the one before. A tool call is
 * closed only at the next event, which shows whether a limit cut it off. Unknown events, and blocks of tools that the
 * vendor runs, are skipped.
 */
export function makeMessagesReader(needs: Needs): AnswerReader {
  return new MessagesReader(needs)
}

type Needs = { readonly newId: NewId; readonly names: ToolNames }

/** A search that the backend runs. Its result is a block of its own, which has the id of the search. */
type Search = { readonly key: string; input: string }

class MessagesReader implements AnswerReader {
  readonly #names: ToolNames
  readonly #parts: PartQueue
  readonly #signatures = new Map<string, AnswerSeal>()
  /** The arguments with which each call was opened. They count where no delta follows. */
  readonly #calls = new Map<string, string>()
  readonly #citations = new Map<string, Citation[]>()
  readonly #searches = new Map<string, Search>()
  #usage: Json = {}
  #reason: string | null = null
  #stopSequence: string | null = null
  #explanation: string | null = null
  #started = false
  #over = false
  /** A call that has ended and is not closed yet. */
  #unclosed: string | null = null

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
    if (!isObject(body) || !isMessage(body)) return this.fail(readWholeFailure(body))
    return replay(body).flatMap((event) => this.#take(event))
  }

  end(): AnswerEvent[] {
    return this.fail(ENDED_EARLY)
  }

  fail(failure: Failure): AnswerEvent[] {
    if (this.#over) return []
    this.#over = true
    return [{ type: 'fail', failure, usage: toUsage(this.#usage) }]
  }

  #closeCall(): AnswerEvent[] {
    const key = this.#unclosed
    this.#unclosed = null
    if (key === null) return []
    return this.#parts.close(key, {
      cut: this.#reason !== null && CUT.has(this.#reason),
      text: this.#calls.get(key) ?? '',
    })
  }

  #openBlock(key: string, block: Json): AnswerEvent[] {
    const before = this.#closeCall()
    if (block.type === 'redacted_thinking') {
      this.#signatures.set(key, { kind: 'redacted', data: readText(block.data), before: null })
    }
    if (block.type === 'server_tool_use' && block.name === 'web_search') {
      const input = Object.keys(readObject(block.input)).length > 0 ? JSON.stringify(block.input) : ''
      this.#searches.set(readText(block.id), { key, input })
    }
    if (block.type === 'web_search_tool_result') return [...before, ...this.#closeSearch(block)]
    this.#citations.set(key, readList(block.citations).flatMap(toCitation))
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
        return this.#takeInput(key, readText(delta.partial_json))
      case 'citations_delta':
        this.#citations.get(key)?.push(...toCitation(delta.citation))
        return []
      case 'signature_delta':
        // The last signature counts.
        this.#signatures.set(key, { kind: 'signed', data: readText(delta.signature), before: null })
        return []
      default:
        return []
    }
  }

  #closeBlock(key: string, isCall: boolean): AnswerEvent[] {
    if (isCall) {
      this.#unclosed = key
      return []
    }
    if ([...this.#searches.values()].some((search) => search.key === key)) return []
    const citations = this.#citations.get(key) ?? []
    const seal = this.#signatures.get(key) ?? null
    return this.#parts.close(key, { seal, ...(citations.length > 0 && { citations }) })
  }

  #takeInput(key: string, json: string): AnswerEvent[] {
    const search = [...this.#searches.values()].find((one) => one.key === key)
    if (!search) return this.#parts.delta(key, json)
    search.input += json
    return []
  }

  #closeSearch({ tool_use_id: id, content }: Json): AnswerEvent[] {
    const search = this.#searches.get(readText(id))
    if (!search) return []
    const found = readList(content).flatMap(toWebPage)
    return this.#parts.close(search.key, { text: readText(parseObject(search.input)?.query), found })
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
    if (!this.#started) return this.fail(NOT_BEGUN)
    const isCut = this.#reason !== null && CUT.has(this.#reason)
    const explained =
      this.#reason === 'refusal' && !this.#parts.has('text') ? this.#explain(this.#explanation ?? '') : []
    const closing = [...this.#closeCall(), ...this.#parts.end(isCut), ...explained]
    if (!isCut && this.#parts.hasNamelessCall()) return [...closing, ...this.fail(NAMELESS_CALL)]
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

  #start(): AnswerEvent[] {
    if (this.#started) return []
    this.#started = true
    return [{ type: 'start' }]
  }

  #take(event: Json): AnswerEvent[] {
    if (this.#over) return []
    const key = String(event.index)
    switch (event.type) {
      case 'message_start':
        this.#usage = withoutNulls(readObject(readObject(event.message).usage))
        return this.#start()
      case 'content_block_start': {
        const block = readObject(event.content_block)
        if (block.type === 'tool_use') this.#calls.set(key, JSON.stringify(readObject(block.input)))
        if (readName(block.signature) !== null) {
          this.#signatures.set(key, { kind: 'signed', data: readText(block.signature), before: null })
        }
        return [...this.#start(), ...this.#openBlock(key, block)]
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
    case 'server_tool_use':
      return block.name === 'web_search' ? { kind: 'search' } : null
    case 'tool_use':
      return { kind: 'tool', id: readText(block.id), tool: names.toTool(readText(block.name)) }
    default:
      return null
  }
}

/** A citation belongs to its whole block. Those of documents have no address and are left out. */
function toCitation(citation: unknown): Citation[] {
  return toWebPage(citation).map((page) => ({ ...page, range: null }))
}

function toWebPage(value: unknown): WebPage[] {
  const { url, title } = readObject(value)
  const address = readName(url)
  return address === null ? [] : [{ url: address, title: readName(title) }]
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
  ['refusal', 'filter'],
  ['pause_turn', 'pause'],
])

function judgeFinish(reason: string | null, hasCalls: boolean): Finish {
  const finish = FINISHES.get(reason ?? '') ?? 'stop'
  if (finish === 'tools' && !hasCalls) return 'stop'
  return finish === 'stop' && hasCalls ? 'tools' : finish
}

function withoutNulls(counts: Json): Json {
  return Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== null && value !== undefined))
}

/** Null when the backend has not reported any usage. */
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
