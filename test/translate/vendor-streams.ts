import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { readList, readObject, readText } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'

/** The stream with which a vendor of this dialect would send a whole answer. */
export function toVendorStream(dialect: Dialect, answer: Json): SseEvent[] {
  if (dialect === 'chat') return [...chatChunks(answer).map(toData), { event: null, data: '[DONE]' }]
  const events = dialect === 'messages' ? messagesEvents(answer) : numbered(responsesEvents(answer))
  return events.map((event) => ({ event: readText(event.type), data: JSON.stringify(event) }))
}

/** The event with which a vendor reports an error in a stream, after `count` events. */
export function toErrorEvent(dialect: Dialect, body: Json, count: number): SseEvent {
  if (dialect === 'chat') return toData(body)
  if (dialect === 'messages') return { event: 'error', data: JSON.stringify(body) }
  const head = { id: 'resp_1', object: 'response', created_at: 1, model: 'model-1', output: [], tools: [] }
  const response = { ...head, status: 'failed', error: body.error, incomplete_details: null, usage: null }
  const failed = { type: 'response.failed', sequence_number: count, response }
  return { event: 'response.failed', data: JSON.stringify(failed) }
}

function toData(body: Json): SseEvent {
  return { event: null, data: JSON.stringify(body) }
}

/** A text in two pieces. */
function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '')
}

// ---- chat

const CHUNK = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'model-1' }

/** The arguments of parallel calls alternate, as some servers send them. */
function chatChunks({ choices, usage }: Json): Json[] {
  const choice = readObject(readList(choices)[0])
  const message = readObject(choice.message)
  const calls = readList(message.tool_calls).map(readObject)
  const chunk = (delta: Json, finish_reason: unknown = null): Json => ({
    ...CHUNK,
    choices: [{ index: 0, delta, finish_reason }],
  })
  const texts = (member: string) => halves(readText(message[member])).map((text) => chunk({ [member]: text }))
  const argumentsOf = (call: Json) => halves(readText(readObject(call.function).arguments))
  const opened = calls.map((call, index) => {
    const empty = { ...readObject(call.function), arguments: '' }
    return chunk({ tool_calls: [{ ...call, index, function: empty }] })
  })
  const pieces = [0, 1].flatMap((half) =>
    calls.map((call, index) => chunk({ tool_calls: [{ index, function: { arguments: argumentsOf(call)[half] } }] })),
  )
  return [
    chunk({ role: 'assistant', content: '' }),
    ...texts('reasoning_content'),
    ...texts('content'),
    ...texts('refusal'),
    ...opened,
    ...pieces,
    chunk({}, choice.finish_reason),
    { ...CHUNK, choices: [], usage },
  ]
}

// ---- messages

function messagesEvents({ content, stop_reason, usage, ...message }: Json): Json[] {
  const begun = { ...message, content: [], stop_reason: null, usage: { ...readObject(usage), output_tokens: 1 } }
  return [
    { type: 'message_start', message: begun },
    ...readList(content).flatMap((block, index) => blockEvents(readObject(block), index)),
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
}

function blockEvents(block: Json, index: number): Json[] {
  const { text, thinking, signature, input } = block
  const empty = {
    ...block,
    ...(text !== undefined && { text: '' }),
    ...(thinking !== undefined && { thinking: '', signature: '' }),
    ...(input !== undefined && { input: {} }),
  }
  const deltas = [
    ...halves(readText(text)).map((half) => ({ type: 'text_delta', text: half })),
    ...halves(readText(thinking)).map((half) => ({ type: 'thinking_delta', thinking: half })),
    ...(signature === undefined ? [] : [{ type: 'signature_delta', signature }]),
    ...(input === undefined ? [] : halves(JSON.stringify(input))).map((half) => {
      return { type: 'input_json_delta', partial_json: half }
    }),
  ]
  return [
    { type: 'content_block_start', index, content_block: empty },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

// ---- responses

function numbered(events: readonly Json[]): Json[] {
  return events.map((event, sequence_number) => ({ ...event, sequence_number }))
}

function responsesEvents(response: Json): Json[] {
  const begun = { ...response, status: 'in_progress', output: [], usage: null, incomplete_details: null }
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...readList(response.output).flatMap((item, index) => itemEvents(readObject(item), index)),
    { type: `response.${readText(response.status)}`, response },
  ]
}

function itemEvents(item: Json, output_index: number): Json[] {
  const at = { item_id: item.id, output_index }
  const empty = { content: [], summary: [], arguments: '' }
  const begun = Object.fromEntries(
    Object.entries(item).map(([name, value]) => [name, name in empty ? Reflect.get(empty, name) : value]),
  )
  return [
    { type: 'response.output_item.added', output_index, item: { ...begun, status: 'in_progress' } },
    ...readList(item.content).flatMap((part, content_index) => partEvents(readObject(part), { ...at, content_index })),
    ...readList(item.summary).flatMap((part, summary_index) => {
      return summaryEvents(readObject(part), { ...at, summary_index })
    }),
    ...(item.arguments === undefined ? [] : argumentEvents(item, at)),
    { type: 'response.output_item.done', output_index, item },
  ]
}

function summaryEvents(part: Json, at: Json): Json[] {
  return [
    { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
    ...halves(readText(part.text)).map((delta) => {
      return { type: 'response.reasoning_summary_text.delta', ...at, delta }
    }),
    { type: 'response.reasoning_summary_text.done', ...at, text: part.text },
    { type: 'response.reasoning_summary_part.done', ...at, part },
  ]
}

function argumentEvents({ arguments: text, name }: Json, at: Json): Json[] {
  return [
    ...halves(readText(text)).map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
    { type: 'response.function_call_arguments.done', ...at, name, arguments: text },
  ]
}

function partEvents(part: Json, at: Json): Json[] {
  const isText = part.type === 'output_text'
  const name = isText ? 'output_text' : 'refusal'
  const begun = isText ? { ...part, text: '' } : { ...part, refusal: '' }
  return [
    { type: 'response.content_part.added', ...at, part: begun },
    ...halves(readText(part.text) + readText(part.refusal)).map((delta) => {
      return { type: `response.${name}.delta`, ...at, delta, ...(isText && { logprobs: [] }) }
    }),
    {
      type: `response.${name}.done`,
      ...at,
      ...(isText ? { text: part.text, logprobs: [] } : { refusal: part.refusal }),
    },
    { type: 'response.content_part.done', ...at, part },
  ]
}
