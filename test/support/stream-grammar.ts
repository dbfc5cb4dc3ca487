import { isDeepStrictEqual } from 'node:util'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { isObject, type Json, readList, readObject, readText } from '../../src/gateway/dialects/json/read-json.ts'

/**
 * The grammar of each stream style, as its vendor's clients rely on it. Every checker takes the events of one whole stream
 * and returns what is wrong with it, one line each; an empty list is a stream that any client can read.
 */
type Checker = (events: readonly SseEvent[]) => string[]

/** Chat completions: chunks, one finish reason, `[DONE]` last; or an error chunk last and no `[DONE]`. */
export const checkChatStream: Checker = (events) => {
  const check = newCheck()
  const calls = new Map<number, string>()
  let finished = false
  let id: unknown
  let model: unknown

  events.forEach(({ event, data }, at) => {
    check.at = at
    check(event === null, `a chat chunk has no event name, not ${String(event)}`)
    if (check.ended !== null) return check(false, `something follows ${check.ended}`)
    if (data === '[DONE]') {
      check.ended = '[DONE]'
      return check(finished, '[DONE] comes without a finish_reason')
    }
    const chunk = check.object(data)
    if (chunk.error !== undefined) {
      check.ended = 'the error'
      return check(readText(readObject(chunk.error).message) !== '', 'the error has no message')
    }
    check(chunk.object === 'chat.completion.chunk', 'object is not chat.completion.chunk')
    check(
      typeof chunk.model === 'string' && chunk.model !== '' && chunk.model === (model ??= chunk.model),
      'model is missing or changes',
    )
    check(typeof chunk.id === 'string' && chunk.id === (id ??= chunk.id), 'id is missing or changes')
    check(Array.isArray(chunk.choices), 'choices is not a list')
    for (const choice of readList(chunk.choices).map(readObject)) {
      const delta = readObject(choice.delta)
      const says = [delta.content, delta.reasoning, delta.reasoning_content, delta.refusal].some(
        (text) => text !== undefined && text !== null && text !== '',
      )
      check(typeof choice.index === 'number', 'a choice has no index')
      check(!finished || !(says || readList(delta.tool_calls).length > 0), 'content follows the finish_reason')
      for (const call of readList(delta.tool_calls).map(readObject)) checkCall(check, calls, call)
      if (typeof choice.finish_reason === 'string') {
        check(!finished, 'a second finish_reason')
        finished = true
      }
    }
  })
  check.at = events.length
  check(check.ended !== null, 'the stream has no end')
  return check.violations
}

function checkCall(check: Check, calls: Map<number, string>, call: Json): void {
  const index = call.index
  if (typeof index !== 'number') return check(false, 'a tool call has no index')
  const name = readText(readObject(call.function).name)
  if (calls.has(index)) return check(name === '' || name === calls.get(index), 'a tool call changes its name')
  check(readText(call.id) !== '' && name !== '', 'a tool call begins without id or name')
  calls.set(index, name)
}

const STOP_REASONS = new Set(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal'])
const DELTA_OF_BLOCK: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
}

/** Messages: message_start, blocks one after the other, message_delta, message_stop; or an error last. */
export const checkMessagesStream: Checker = (events) => {
  const check = newCheck()
  const types: string[] = []
  const toolIds = new Set<string>()
  let block: { index: number; type: string; json: string; text: string; signature: string; id: string } | null = null
  let blocks = 0
  let calls = 0
  const broken: string[] = []
  let started = false
  let delta: Json | null = null

  function startBlock(event: Json): void {
    const opened = readObject(event.content_block)
    const type = readText(opened.type)
    check(block === null, 'a block opens inside another')
    check(event.index === blocks, `block ${String(event.index)} opens where ${String(blocks)} is due`)
    check(type in DELTA_OF_BLOCK, `unknown block type ${type}`)
    if (type === 'text') check(opened.text === '', 'a text block does not open empty')
    if (type === 'thinking')
      check(opened.thinking === '' && opened.signature === '', 'a thinking block does not open empty')
    if (type === 'tool_use') checkToolUse(opened)
    block = { index: blocks, type, json: '', text: '', signature: '', id: readText(opened.id) }
    blocks++
  }

  function checkToolUse(opened: Json): void {
    calls++
    const id = readText(opened.id)
    check(/^[a-zA-Z0-9_-]+$/.test(id), `a tool_use id is ${id}`)
    check(!toolIds.has(id), 'two tool_use blocks have one id')
    check(readText(opened.name) !== '', 'a tool_use has no name')
    check(isDeepStrictEqual(opened.input, {}), 'a tool_use does not open with an empty input')
    toolIds.add(id)
  }

  function takeDelta(event: Json): void {
    const { type, ...said } = readObject(event.delta)
    if (!block) return check(false, 'a delta outside of any block')
    check(event.index === block.index, `a delta for block ${String(event.index)} inside block ${String(block.index)}`)
    check(DELTA_OF_BLOCK[block.type]?.includes(readText(type)) ?? false, `a ${String(type)} in a ${block.type} block`)
    check(
      Object.values(said).every((text) => typeof text === 'string'),
      'a delta says no text',
    )
    check(block.signature === '' || block.type !== 'thinking', 'a thinking block goes on behind its signature')
    block.text += readText(said.text) + readText(said.thinking)
    block.json += readText(said.partial_json)
    block.signature += readText(said.signature)
  }

  function stopBlock(event: Json): void {
    if (!block) return check(false, 'a block closes that is not open')
    check(event.index === block.index, `block ${String(event.index)} closes inside block ${String(block.index)}`)
    if (block.type === 'tool_use' && !isObject(parse(block.json))) broken.push(block.json)
    if (block.type === 'thinking') check(block.signature !== '', 'a thinking block has no signature')
    if (block.type !== 'tool_use') check(block.text !== '', `an empty ${block.type} block`)
    block = null
  }

  function takeEnd(event: Json): void {
    check(delta === null, 'a second message_delta')
    check(block === null, 'message_delta comes inside a block')
    delta = readObject(event.delta)
    const reason = readText(delta.stop_reason)
    check(STOP_REASONS.has(reason), `stop_reason is ${reason}`)
    check(
      (reason === 'stop_sequence') === (typeof delta.stop_sequence === 'string'),
      'stop_sequence does not fit the stop_reason',
    )
    if (reason === 'tool_use') check(calls > 0, 'stop_reason is tool_use without a call')
    if (reason === 'end_turn' || reason === 'stop_sequence') check(calls === 0, `stop_reason is ${reason} after a call`)
    if (reason !== 'max_tokens' && reason !== 'refusal')
      check(broken.length === 0, `the input of a call is no object: ${broken.join()}`)
    checkMessagesUsage(check, event.usage)
  }

  events.forEach(({ event, data }, at) => {
    check.at = at
    const read = check.object(data)
    const type = readText(read.type)
    types.push(type)
    check(event === type, `event ${String(event)} has the type ${type}`)
    if (check.ended !== null) return check(false, `${type} follows ${check.ended}`)
    if (type === 'error') {
      check.ended = type
      const error = readObject(read.error)
      return check(readText(error.type) !== '' && readText(error.message) !== '', 'the error has no type or message')
    }
    check(
      started === (type !== 'message_start'),
      started ? 'a second message_start' : `${type} comes before message_start`,
    )
    if (delta !== null) check(type === 'message_stop' || type === 'ping', `${type} follows message_delta`)
    if (type === 'message_start') {
      started = true
      checkMessage(check, readObject(read.message))
    } else if (type === 'content_block_start') startBlock(read)
    else if (type === 'content_block_delta') takeDelta(read)
    else if (type === 'content_block_stop') stopBlock(read)
    else if (type === 'message_delta') takeEnd(read)
    else if (type === 'message_stop') {
      check.ended = type
      check(delta !== null, 'message_stop comes without message_delta')
    } else check(type === 'ping', `unknown event ${type}`)
  })
  check.at = events.length
  check(check.ended !== null, 'the stream has no end')
  return check.violations
}

function checkMessage(check: Check, message: Json): void {
  check(readText(message.id) !== '' && readText(message.model) !== '', 'the message has no id or model')
  check(message.type === 'message' && message.role === 'assistant', 'the message is not one of the assistant')
  check(isDeepStrictEqual(message.content, []), 'the message does not start empty')
  check(message.stop_reason === null && message.stop_sequence === null, 'the message starts with a stop reason')
  checkMessagesUsage(check, message.usage)
}

function checkMessagesUsage(check: Check, usage: unknown): void {
  for (const name of ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']) {
    check(isCount(readObject(usage)[name]), `usage.${name} is no count`)
  }
}

type OpenOutput = { index: number; type: string; part: string | null; said: string; done: string | null; parts: number }

const TERMINAL = ['response.completed', 'response.incomplete', 'response.failed']

/** Responses: created, in_progress, items with all of their parts, and one of completed, incomplete, failed with everything. */
export const checkResponsesStream: Checker = (events) => {
  const check = newCheck()
  const open = new Map<string, OpenOutput>()
  const done = new Map<number, Json>()
  const ids = new Set<string>()
  let items = 0
  let id: unknown

  function lifecycle(type: string, response: Json): void {
    check(
      typeof response.id === 'string' && response.id === (id ??= response.id),
      'the id of the response is missing or changes',
    )
    check(response.object === 'response', 'object is not response')
    check(isCount(response.created_at), 'created_at is no count of seconds')
    check(readText(response.model) !== '', 'the response has no model')
    const status = type === 'response.created' ? 'in_progress' : type.slice('response.'.length)
    check(response.status === status, `${type} has the status ${String(response.status)}`)
    check(Array.isArray(response.output) && Array.isArray(response.tools), 'output or tools is no list')
    if (status === 'in_progress')
      return check(readList(response.output).length === 0, 'the response does not start empty')
    const output = [...done].sort(([a], [b]) => a - b).map(([, item]) => item)
    check(isDeepStrictEqual(response.output, output), 'output does not hold exactly the items that were done')
    checkEnd(check, type, response, open.size)
  }

  function added(event: Json): void {
    const item = readObject(event.item)
    const itemId = readText(item.id)
    check(itemId !== '' && !ids.has(itemId), `an item has no id of its own: ${itemId}`)
    check(event.output_index === items, `output_index ${String(event.output_index)} where ${String(items)} is due`)
    check(item.type === 'reasoning' || item.status === 'in_progress', 'an item is added that is not in progress')
    checkItem(check, item, 'in_progress')
    ids.add(itemId)
    open.set(itemId, { index: items, type: readText(item.type), part: null, said: '', done: null, parts: 0 })
    items++
  }

  function itemDone(event: Json): void {
    const item = readObject(event.item)
    const known = open.get(readText(item.id))
    if (!known) return check(false, `an item is done that is not open: ${readText(item.id)}`)
    check(event.output_index === known.index, 'an item is done at another output_index')
    check(item.type === known.type, 'an item changes its type')
    check(known.part === null, `an item is done with an open ${String(known.part)}`)
    check(item.type !== 'message' || known.parts > 0, 'a message without content')
    checkItem(check, item, 'done')
    check(known.done === contentOf(item), `the item says ${contentOf(item)} after ${String(known.done)}`)
    open.delete(readText(item.id))
    done.set(known.index, item)
  }

  function inside(event: Json, use: (item: OpenOutput) => void): void {
    const item = open.get(readText(event.item_id))
    if (!item) return check(false, `${readText(event.type)} for an item that is not open: ${readText(event.item_id)}`)
    check(event.output_index === item.index, `${readText(event.type)} has another output_index`)
    use(item)
  }

  const openPart = (event: Json, kind: string, index: unknown): void =>
    inside(event, (item) => {
      check(item.part === null, 'a part opens inside another')
      check(index === item.parts, `part ${String(index)} opens where ${String(item.parts)} is due`)
      Object.assign(item, { part: kind, said: '', done: null, parts: item.parts + 1 })
    })

  const closePart = (event: Json, kind: string, text: unknown): void =>
    inside(event, (item) => {
      check(item.part === kind, `a ${kind} closes that is not open`)
      check(item.done !== null && item.done === text, 'a part is done without its text, or with another')
      item.part = null
    })

  const say = (event: Json, part: string | null): void =>
    inside(event, (item) => {
      check(item.part === part, `${readText(event.type)} inside ${String(item.part)}`)
      check(item.done === null, `${readText(event.type)} after it was done`)
      check(typeof event.delta === 'string', 'a delta is no text')
      item.said += readText(event.delta)
    })

  const sayDone = (event: Json, part: string | null, text: unknown): void =>
    inside(event, (item) => {
      check(item.part === part, `${readText(event.type)} inside ${String(item.part)}`)
      check(item.said === text, `done says ${String(text)} after deltas that said ${item.said}`)
      item.done = readText(text)
    })

  const ofType = (event: Json, type: string): void =>
    inside(event, (item) => check(item.type === type, `${readText(event.type)} in a ${item.type}`))

  const rules: Record<string, (event: Json) => void> = {
    'response.output_item.added': added,
    'response.output_item.done': itemDone,
    'response.content_part.added': (event) =>
      openPart(event, readText(readObject(event.part).type), event.content_index),
    'response.content_part.done': (event) => {
      const part = readObject(event.part)
      closePart(event, readText(part.type), part.text ?? part.refusal)
    },
    'response.output_text.delta': (event) => say(event, 'output_text'),
    'response.output_text.done': (event) => sayDone(event, 'output_text', event.text),
    'response.refusal.delta': (event) => say(event, 'refusal'),
    'response.refusal.done': (event) => sayDone(event, 'refusal', event.refusal),
    'response.reasoning_summary_part.added': (event) => {
      ofType(event, 'reasoning')
      openPart(event, 'summary', event.summary_index)
    },
    'response.reasoning_summary_part.done': (event) => closePart(event, 'summary', readObject(event.part).text),
    'response.reasoning_summary_text.delta': (event) => say(event, 'summary'),
    'response.reasoning_summary_text.done': (event) => sayDone(event, 'summary', event.text),
    'response.function_call_arguments.delta': (event) => {
      ofType(event, 'function_call')
      say(event, null)
    },
    'response.function_call_arguments.done': (event) => sayDone(event, null, event.arguments),
    'response.custom_tool_call_input.delta': (event) => {
      ofType(event, 'custom_tool_call')
      say(event, null)
    },
    'response.custom_tool_call_input.done': (event) => sayDone(event, null, event.input),
  }

  events.forEach(({ event, data }, at) => {
    check.at = at
    const read = check.object(data)
    const type = readText(read.type)
    check(event === type, `event ${String(event)} has the type ${type}`)
    check(read.sequence_number === at, `sequence_number is ${String(read.sequence_number)} where ${String(at)} is due`)
    if (check.ended !== null) return check(false, `${type} follows ${check.ended}`)
    const due = ['response.created', 'response.in_progress'][at]
    check(due === undefined || type === due, `${type} where ${String(due)} is due`)
    if (TERMINAL.includes(type)) check.ended = type
    if (isObject(read.response)) {
      check(at < 2 || check.ended !== null, `a second ${type}`)
      return lifecycle(type, read.response)
    }
    const rule = rules[type]
    if (rule) rule(read)
    else check(false, `unknown event ${type}`)
  })
  check.at = events.length
  check(check.ended !== null, 'the stream has no end')
  return check.violations
}

function checkItem(check: Check, item: Json, when: 'in_progress' | 'done'): void {
  const statuses = when === 'done' ? ['completed', 'incomplete'] : ['in_progress']
  if (item.type !== 'reasoning') check(statuses.includes(readText(item.status)), `an item is ${readText(item.status)}`)
  if (item.type === 'message')
    check(item.role === 'assistant' && Array.isArray(item.content), 'a message has no role or content')
  else if (item.type === 'reasoning') check(Array.isArray(item.summary), 'reasoning has no summary')
  else if (item.type === 'function_call' || item.type === 'custom_tool_call') {
    const said = item.type === 'function_call' ? item.arguments : item.input
    check(readText(item.call_id) !== '' && readText(item.name) !== '', 'a call has no call_id or name')
    check(typeof said === 'string', 'a call has no arguments or input')
    if (when === 'in_progress') check(said === '', 'a call does not start empty')
  } else check(false, `unknown item type ${readText(item.type)}`)
}

function contentOf(item: Json): string {
  const parts = [...readList(item.content), ...readList(item.summary)].map(readObject)
  return (
    readText(item.arguments) +
    readText(item.input) +
    parts.map((part) => readText(part.text) + readText(part.refusal)).join('')
  )
}

function checkEnd(check: Check, type: string, response: Json, open: number): void {
  if (type === 'response.failed') {
    const error = readObject(response.error)
    check(readText(error.code) !== '' && readText(error.message) !== '', 'the failure has no code or message')
  } else {
    check(open === 0, 'an item was never done')
    check(response.error === null, `${type} has an error`)
    check(response.usage !== null, `${type} has no usage`)
  }
  const reason = readObject(response.incomplete_details).reason
  check((type === 'response.incomplete') === (typeof reason === 'string'), 'incomplete_details does not fit the status')
  if (response.usage === null) return
  const usage = readObject(response.usage)
  const counts = [
    ...[usage.input_tokens, usage.output_tokens, usage.total_tokens],
    readObject(usage.input_tokens_details).cached_tokens,
    readObject(usage.output_tokens_details).reasoning_tokens,
  ]
  check(counts.every(isCount), 'a member of usage is missing or no count')
}

// ---- what the checkers share

type Check = {
  (holds: boolean, violation: string): void
  at: number
  /** What ended the stream, null as long as nothing did. */
  ended: string | null
  readonly violations: string[]
  object(data: string): Json
}

function newCheck(): Check {
  const violations: string[] = []
  const check = (holds: boolean, violation: string): void => {
    if (!holds) violations.push(`event ${String(checked.at)}: ${violation}`)
  }
  const object = (data: string): Json => {
    const value = parse(data)
    check(isObject(value), `the data is no JSON object: ${data.slice(0, 80)}`)
    return readObject(value)
  }
  const checked: Check = Object.assign(check, { at: 0, ended: null, violations, object })
  return checked
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
