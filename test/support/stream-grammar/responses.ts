import { isDeepStrictEqual } from 'node:util'
import { readList, readObject, readText } from '../../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../../src/gateway/dialects/json/read-json.ts'
import { isObject } from '../../../src/kernel/json.ts'
import { newCheck } from './check.ts'
import type { Check, Checker } from './check.ts'
import { checkItem, checkResponse, contentOf, hasStatus } from './responses-objects.ts'

/**
 * The responses dialect: created, in_progress, items with all their parts, then completed, incomplete or failed with
 * the whole output.
 */
export const checkResponsesStream: Checker = (events) => {
  const grammar = new ResponsesGrammar()
  events.forEach(({ event, data }, at) => grammar.take(event, data, at))
  return grammar.end(events.length)
}

const TERMINAL = ['response.completed', 'response.incomplete', 'response.failed']

/** An item of the output that was added and is not done. */
type OpenItem = {
  readonly index: number
  readonly type: string
  /** The kind of the part that is open; null between parts, and in items without parts. */
  part: string | null
  partCount: number
  /** The text of the deltas so far. */
  text: string
  /** The text of the `done` event; null before it. */
  doneText: string | null
}

class ResponsesGrammar {
  readonly #check: Check = newCheck()
  readonly #open = new Map<string, OpenItem>()
  readonly #done = new Map<number, Json>()
  readonly #ids = new Set<string>()
  #itemCount = 0
  #responseId: unknown

  take(event: string | null, data: string, at: number): void {
    const check = this.#check
    check.at = at
    const read = check.object(data)
    const type = readText(read.type)
    check(event === type, `event ${String(event)} has the type ${type}`)
    check(read.sequence_number === at, `sequence_number is ${String(read.sequence_number)} instead of ${at}`)
    if (check.ended !== null) return check(false, `${type} follows ${check.ended}`)
    const expected = ['response.created', 'response.in_progress'][at]
    check(expected === undefined || type === expected, `${type} instead of ${String(expected)}`)
    if (TERMINAL.includes(type)) check.ended = type
    if (isObject(read.response)) {
      check(at < 2 || check.ended !== null, `a second ${type}`)
      return this.#lifecycle(type, read.response)
    }
    const rule = this.#rules[type]
    if (rule) rule(read)
    else check(false, `unknown event ${type}`)
  }

  end(at: number): string[] {
    this.#check.at = at
    this.#check(this.#check.ended !== null, 'the stream has no end')
    return this.#check.violations
  }

  readonly #rules: Readonly<Record<string, (event: Json) => void>> = {
    'response.output_item.added': (event) => this.#addItem(event),
    'response.output_item.done': (event) => this.#endItem(event),
    'response.content_part.added': (event) =>
      this.#openPart(event, readText(readObject(event.part).type), event.content_index),
    'response.content_part.done': (event) => {
      const part = readObject(event.part)
      this.#closePart(event, readText(part.type), part.text ?? part.refusal)
    },
    'response.output_text.delta': (event) => this.#delta(event, 'output_text'),
    'response.output_text.done': (event) => this.#deltasDone(event, 'output_text', event.text),
    'response.output_text.annotation.added': (event) => {
      this.#inside(event, (item) => this.#check(item.part === 'output_text', 'an annotation outside of a text'))
    },
    'response.web_search_call.in_progress': (event) => this.#hasType(event, 'web_search_call'),
    'response.web_search_call.searching': (event) => this.#hasType(event, 'web_search_call'),
    'response.web_search_call.completed': (event) => this.#hasType(event, 'web_search_call'),
    'response.refusal.delta': (event) => this.#delta(event, 'refusal'),
    'response.refusal.done': (event) => this.#deltasDone(event, 'refusal', event.refusal),
    'response.reasoning_summary_part.added': (event) => {
      this.#hasType(event, 'reasoning')
      this.#openPart(event, 'summary', event.summary_index)
    },
    'response.reasoning_summary_part.done': (event) => this.#closePart(event, 'summary', readObject(event.part).text),
    'response.reasoning_summary_text.delta': (event) => this.#delta(event, 'summary'),
    'response.reasoning_summary_text.done': (event) => this.#deltasDone(event, 'summary', event.text),
    'response.function_call_arguments.delta': (event) => {
      this.#hasType(event, 'function_call')
      this.#delta(event, null)
    },
    'response.function_call_arguments.done': (event) => this.#deltasDone(event, null, event.arguments),
    'response.custom_tool_call_input.delta': (event) => {
      this.#hasType(event, 'custom_tool_call')
      this.#delta(event, null)
    },
    'response.custom_tool_call_input.done': (event) => this.#deltasDone(event, null, event.input),
  }

  /** The events that carry the whole response: created, in_progress and the terminal ones. */
  #lifecycle(type: string, response: Json): void {
    const check = this.#check
    check(
      typeof response.id === 'string' && response.id === (this.#responseId ??= response.id),
      'the id of the response is missing or changes',
    )
    const status = type === 'response.created' ? 'in_progress' : type.slice('response.'.length)
    check(response.status === status, `${type} has the status ${String(response.status)}`)
    checkResponse(check, response)
    if (status === 'in_progress')
      return check(readList(response.output).length === 0, 'the response does not start empty')
    const output = [...this.#done].sort(([a], [b]) => a - b).map(([, item]) => item)
    check(isDeepStrictEqual(response.output, output), 'output does not hold exactly the items that were done')
    if (type !== 'response.failed') check(this.#open.size === 0, 'an item was never done')
  }

  #addItem(event: Json): void {
    const check = this.#check
    const item = readObject(event.item)
    const id = readText(item.id)
    check(id !== '' && !this.#ids.has(id), `the id of an item is missing or not unique: ${id}`)
    check(event.output_index === this.#itemCount, `output_index ${String(event.output_index)}, not ${this.#itemCount}`)
    check(!hasStatus(item) || item.status === 'in_progress', 'an item is added that is not in progress')
    checkItem(check, item, 'in_progress')
    this.#ids.add(id)
    const index = this.#itemCount++
    this.#open.set(id, { index, type: readText(item.type), part: null, partCount: 0, text: '', doneText: null })
  }

  #endItem(event: Json): void {
    const check = this.#check
    const item = readObject(event.item)
    const known = this.#open.get(readText(item.id))
    if (!known) return check(false, `an item is done that is not open: ${readText(item.id)}`)
    check(event.output_index === known.index, 'an item is done at another output_index')
    check(item.type === known.type, 'an item changes its type')
    check(known.part === null, `an item is done with an open ${String(known.part)}`)
    check(item.type !== 'message' || known.partCount > 0, 'a message without content')
    checkItem(check, item, 'done')
    const hasText = known.type !== 'web_search_call' && known.type !== 'compaction'
    check(
      !hasText || known.doneText === contentOf(item),
      `the item has ${contentOf(item)} after ${String(known.doneText)}`,
    )
    this.#open.delete(readText(item.id))
    this.#done.set(known.index, item)
  }

  /** Finds the open item that an event belongs to. */
  #inside(event: Json, use: (item: OpenItem) => void): void {
    const item = this.#open.get(readText(event.item_id))
    const type = readText(event.type)
    if (!item) return this.#check(false, `${type} for an item that is not open: ${readText(event.item_id)}`)
    this.#check(event.output_index === item.index, `${type} has another output_index`)
    use(item)
  }

  #hasType(event: Json, type: string): void {
    this.#inside(event, (item) => this.#check(item.type === type, `${readText(event.type)} in a ${item.type}`))
  }

  #openPart(event: Json, kind: string, index: unknown): void {
    this.#inside(event, (item) => {
      this.#check(item.part === null, 'a part opens inside another')
      this.#check(index === item.partCount, `part ${String(index)} opens instead of ${item.partCount}`)
      Object.assign(item, { part: kind, text: '', doneText: null, partCount: item.partCount + 1 })
    })
  }

  #closePart(event: Json, kind: string, text: unknown): void {
    this.#inside(event, (item) => {
      this.#check(item.part === kind, `a ${kind} closes that is not open`)
      this.#check(item.doneText !== null && item.doneText === text, 'a part is done without its text, or with another')
      item.part = null
    })
  }

  #delta(event: Json, part: string | null): void {
    this.#inside(event, (item) => {
      this.#check(item.part === part, `${readText(event.type)} inside ${String(item.part)}`)
      this.#check(item.doneText === null, `${readText(event.type)} after its done event`)
      this.#check(typeof event.delta === 'string', 'a delta is not text')
      item.text += readText(event.delta)
    })
  }

  #deltasDone(event: Json, part: string | null, text: unknown): void {
    this.#inside(event, (item) => {
      this.#check(item.part === part, `${readText(event.type)} inside ${String(item.part)}`)
      this.#check(item.text === text, `done has ${String(text)} after deltas with ${item.text}`)
      item.doneText = readText(text)
    })
  }
}
