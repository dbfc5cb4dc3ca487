import { isDeepStrictEqual } from 'node:util'
import { readObject, readText } from '../../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../../src/gateway/dialects/json/read-json.ts'
import { isObject } from '../../../src/kernel/json.ts'
import { isCount, newCheck, parseJson } from './check.ts'
import type { Check, Checker } from './check.ts'

/** The messages dialect: message_start, blocks one after another, message_delta, message_stop; or an error last. */
export const checkMessagesStream: Checker = (events) => {
  const grammar = new MessagesGrammar()
  events.forEach(({ event, data }, at) => grammar.take(event, data, at))
  return grammar.end(events.length)
}

const STOP_REASONS = new Set([
  'end_turn',
  'max_tokens',
  'model_context_window_exceeded',
  'pause_turn',
  'refusal',
  'stop_sequence',
  'tool_use',
])
const DELTAS_OF_BLOCK: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
  web_search_tool_result: [],
}

type Block = { readonly index: number; readonly type: string; json: string; text: string; signature: string }

class MessagesGrammar {
  readonly #check: Check = newCheck()
  readonly #toolIds = new Set<string>()
  /** Tool inputs that are not JSON objects; allowed only in a stream that was cut off. */
  readonly #brokenInputs: string[] = []
  #block: Block | null = null
  #blockCount = 0
  #toolCount = 0
  /** The id of a search whose result must follow. */
  #search: string | null = null
  #hasStarted = false
  #hasDelta = false

  take(event: string | null, data: string, at: number): void {
    const check = this.#check
    check.at = at
    const read = check.object(data)
    const type = readText(read.type)
    check(event === type, `event ${String(event)} has the type ${type}`)
    if (check.ended !== null) return check(false, `${type} follows ${check.ended}`)
    if (type === 'error') return this.#error(readObject(read.error))
    check(
      this.#hasStarted === (type !== 'message_start'),
      this.#hasStarted ? 'a second message_start' : `${type} comes before message_start`,
    )
    if (this.#hasDelta) check(type === 'message_stop' || type === 'ping', `${type} follows message_delta`)
    if (type === 'message_start') this.#start(readObject(read.message))
    else if (type === 'content_block_start') this.#startBlock(read)
    else if (type === 'content_block_delta') this.#extendBlock(read)
    else if (type === 'content_block_stop') this.#stopBlock(read)
    else if (type === 'message_delta') this.#messageDelta(read)
    else if (type === 'message_stop') this.#stop()
    else check(type === 'ping', `unknown event ${type}`)
  }

  end(at: number): string[] {
    this.#check.at = at
    this.#check(this.#check.ended !== null, 'the stream has no end')
    return this.#check.violations
  }

  #start(message: Json): void {
    const check = this.#check
    this.#hasStarted = true
    check(readText(message.id) !== '' && readText(message.model) !== '', 'the message has no id or model')
    check(message.type === 'message' && message.role === 'assistant', 'the message is not one of the assistant')
    check(isDeepStrictEqual(message.content, []), 'the message does not start empty')
    check(message.stop_reason === null && message.stop_sequence === null, 'the message starts with a stop reason')
    this.#usage(message.usage)
  }

  #startBlock(event: Json): void {
    const check = this.#check
    const opened = readObject(event.content_block)
    const type = readText(opened.type)
    check(this.#block === null, 'a block starts inside another')
    check(event.index === this.#blockCount, `block ${String(event.index)} starts instead of ${this.#blockCount}`)
    check(type in DELTAS_OF_BLOCK, `unknown block type ${type}`)
    if (type === 'text') check(opened.text === '', 'a text block does not start empty')
    if (type === 'thinking')
      check(opened.thinking === '' && opened.signature === '', 'a thinking block does not start empty')
    if (type === 'tool_use') this.#startToolUse(opened)
    const search = type === 'web_search_tool_result' ? readText(opened.tool_use_id) : null
    check(search === this.#search, 'a search is not followed by its result')
    this.#search = type === 'server_tool_use' ? readText(opened.id) : null
    this.#block = { index: this.#blockCount, type, json: '', text: '', signature: '' }
    this.#blockCount++
  }

  #startToolUse(opened: Json): void {
    const check = this.#check
    this.#toolCount++
    const id = readText(opened.id)
    check(/^[a-zA-Z0-9_-]+$/.test(id), `a tool_use id is ${id}`)
    check(!this.#toolIds.has(id), 'two tool_use blocks have one id')
    check(readText(opened.name) !== '', 'a tool_use has no name')
    check(isDeepStrictEqual(opened.input, {}), 'a tool_use does not start with an empty input')
    this.#toolIds.add(id)
  }

  #extendBlock(event: Json): void {
    const check = this.#check
    const block = this.#block
    const { type, ...delta } = readObject(event.delta)
    if (!block) return check(false, 'a delta outside of any block')
    check(event.index === block.index, `a delta for block ${String(event.index)} inside block ${block.index}`)
    check(DELTAS_OF_BLOCK[block.type]?.includes(readText(type)) ?? false, `a ${String(type)} in a ${block.type} block`)
    const isText = Object.values(delta).every((value) => typeof value === 'string')
    check(type === 'citations_delta' ? isObject(delta.citation) : isText, 'a delta has not the form of its type')
    check(block.signature === '' || block.type !== 'thinking', 'a thinking block continues after its signature')
    block.text += readText(delta.text) + readText(delta.thinking)
    block.json += readText(delta.partial_json)
    block.signature += readText(delta.signature)
  }

  #stopBlock(event: Json): void {
    const check = this.#check
    const block = this.#block
    if (!block) return check(false, 'a block stops that is not open')
    check(event.index === block.index, `block ${String(event.index)} stops inside block ${block.index}`)
    if (block.type === 'tool_use' && !isObject(parseJson(block.json))) this.#brokenInputs.push(block.json)
    if (block.type === 'thinking') check(block.signature !== '', 'a thinking block has no signature')
    // Thinking that its model keeps to itself is a signature without text.
    if (block.type === 'text') check(block.text !== '', 'an empty text block')
    this.#block = null
  }

  #messageDelta(event: Json): void {
    const check = this.#check
    check(!this.#hasDelta, 'a second message_delta')
    check(this.#block === null, 'message_delta comes inside a block')
    this.#hasDelta = true
    const delta = readObject(event.delta)
    const reason = readText(delta.stop_reason)
    check(STOP_REASONS.has(reason), `stop_reason is ${reason}`)
    check(
      (reason === 'stop_sequence') === (typeof delta.stop_sequence === 'string'),
      'stop_sequence does not match the stop_reason',
    )
    const hasCalls = this.#toolCount > 0
    if (reason === 'tool_use') check(hasCalls, 'stop_reason is tool_use without a call')
    if (reason === 'end_turn' || reason === 'stop_sequence') check(!hasCalls, `stop_reason is ${reason} after a call`)
    if (reason !== 'max_tokens' && reason !== 'refusal')
      check(this.#brokenInputs.length === 0, `the input of a call is not an object: ${this.#brokenInputs.join()}`)
    this.#usage(event.usage)
  }

  #stop(): void {
    this.#check.ended = 'message_stop'
    this.#check(this.#hasDelta, 'message_stop comes without message_delta')
  }

  #error(error: Json): void {
    this.#check.ended = 'error'
    this.#check(readText(error.type) !== '' && readText(error.message) !== '', 'the error has no type or message')
  }

  #usage(usage: unknown): void {
    for (const name of ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'])
      this.#check(isCount(readObject(usage)[name]), `usage.${name} is not a count`)
  }
}
