import { sseDecoder, type SseEvent } from '../sse/decode.ts'
import { type EngineError, readEngineError } from './chat.ts'
import type { Outcome, StreamTranslator } from './chat-answer.ts'
import { messagesFailure } from './messages-stream.ts'
import { isObject, type Json, parseObject, readCount, readObject, readText } from './read.ts'
import { scanTopLevel, spliceTopLevel } from './splice.ts'

type Named = { readonly model: string }
type State = Outcome['state']

/**
 * A stream of the messages style as an engine that speaks it sends it: the model goes by its service id, all else stays as it
 * is. A stream that ends without `message_stop` ends as a failure, and nothing follows the end.
 */
export function nativeMessagesStream({ model }: Named): StreamTranslator {
  return passEvents({
    endOf: (type) => (type === 'message_stop' ? 'completed' : type === 'error' ? 'failed' : 'open'),
    show: (event) => [withModel(event, 'message', model)],
    fail: (error) => [messagesFailure(error)],
  })
}

/** The same for the responses style, where a failure is always `response.failed`: agents overlook `error` events. */
export function nativeResponsesStream({ model }: Named): StreamTranslator {
  let response: Json = {}
  let sequence = -1

  const fail = ({ message, contextExceeded }: EngineError): SseEvent[] => {
    const error = { code: contextExceeded ? 'context_length_exceeded' : 'server_error', message }
    const failed = { ...NO_RESPONSE, model, ...response, status: 'failed', error }
    const data = { type: 'response.failed', sequence_number: sequence + 1, response: failed }
    return [{ event: 'response.failed', data: JSON.stringify(data) }]
  }
  return passEvents({
    endOf: (type) => RESPONSE_ENDS.get(type) ?? 'open',
    show(event, body) {
      if (readText(body.type) === 'error') return fail(readEngineError(body))
      sequence = readCount(body.sequence_number) ?? sequence + 1
      if (isObject(body.response)) response = { ...body.response, model }
      return [withModel(event, 'response', model)]
    },
    fail,
  })
}

const RESPONSE_ENDS: ReadonlyMap<string, State> = new Map([
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
  ['error', 'failed'],
])

const NO_RESPONSE = { id: 'resp_unknown', object: 'response', created_at: 0, output: [], incomplete_details: null }

type Passing = {
  /** What the answer is after an event of this type. */
  readonly endOf: (type: string) => State
  readonly show: (event: SseEvent, body: Json) => SseEvent[]
  readonly fail: (error: EngineError) => SseEvent[]
}

function passEvents({ endOf, show, fail }: Passing): StreamTranslator {
  let state: State = 'open'

  function failWith(error: EngineError): SseEvent[] {
    if (state !== 'open') return []
    state = 'failed'
    return fail(error)
  }

  return {
    push(event) {
      if (state !== 'open') return []
      const body = parseObject(event.data)
      // Some engines close every stream with `[DONE]`, which neither style knows.
      if (!body)
        return event.data.trim() === '[DONE]' ? [] : failWith(broken('The engine sent an event that is not JSON.'))
      const type = readText(body.type)
      if (isForeignError(event, body)) return failWith(readEngineError(body))
      state = endOf(type)
      return show({ event: event.event ?? type, data: event.data }, body)
    },
    end: () => failWith(broken('The engine ended its answer too early.')),
    fail: (message) => failWith(broken(message)),
    outcome: () => ({ state, usage: null }),
  }
}

function broken(message: string): EngineError {
  return { message, contextExceeded: false }
}

/** An error in a shape that the style does not know, so that its clients would not see what it says: llama.cpp has the chat style's. */
function isForeignError({ event }: SseEvent, { type, error }: Json): boolean {
  return type !== 'error' && (event === 'error' || (type === undefined && error !== undefined))
}

/** The event with another `model` in this member of its data; the same event where there is none. */
function withModel(event: SseEvent, member: string, model: string): SseEvent {
  if (!event.data.includes(`"${member}"`)) return event
  const bytes = Buffer.from(event.data)
  const outer = scanTopLevel(bytes)
  const range = outer?.members.get(member)
  if (!outer || !range) return event
  const inner = bytes.subarray(range.start, range.end)
  const scanned = scanTopLevel(inner)
  if (!scanned?.members.has('model')) return event
  const renamed = spliceTopLevel(inner, { model }, scanned)?.bytes ?? inner
  const data = Buffer.concat([bytes.subarray(0, range.start), renamed, bytes.subarray(range.end)]).toString()
  return { event: event.event, data }
}

/** The whole answer of an engine that speaks the style: null when these bytes are none. */
export function nativeAnswer(body: Buffer, model: string, isAnswer: (body: Json) => boolean): Buffer | null {
  const parsed = parseObject(body.toString('utf8'))
  if (!parsed || !isAnswer(parsed)) return null
  const scanned = scanTopLevel(body)
  if (!scanned?.members.has('model')) return body
  return spliceTopLevel(body, { model }, scanned)?.bytes ?? body
}

/** A message of the messages style, by its shape. */
export function isMessage(body: Json): boolean {
  return body.type === 'message' && Array.isArray(body.content) && isObject(body.usage)
}

/** A response of the responses style, by its shape. */
export function isResponse(body: Json): boolean {
  return body.object === 'response' && Array.isArray(body.output)
}

/**
 * Whether this is a stream of the responses style that its clients can put together: every event has its number, what belongs to an item has the
 * place of it, and the end holds the response and does not call an answer completed that used up its limit. Other servers send events of
 * the same names, and clients give up on them.
 */
export function isResponseStream(stream: string, maxOutputTokens: number): boolean {
  const events = sseDecoder()
    .push(Buffer.from(stream))
    .map(({ data }) => parseObject(data))
    .filter((body) => body !== null)
  const { type, response } = readObject(events.at(-1))
  const hasEnded = type === 'response.completed' || type === 'response.incomplete'
  if (!hasEnded || !isObject(response) || !isResponse(response)) return false
  const isCut = (readCount(readObject(response.usage).output_tokens) ?? 0) >= maxOutputTokens
  return events.every(isPlaced) && !(isCut && response.status === 'completed')
}

function isPlaced({ sequence_number: number, output_index: place, item, item_id: itemId }: Json): boolean {
  const isOfItem = item !== undefined || itemId !== undefined
  return readCount(number) !== null && (!isOfItem || readCount(place) !== null)
}

/** A chat completion or a completion, by its shape. */
export function isCompletion(body: Json): boolean {
  return Array.isArray(body.choices)
}

/** A list of embeddings, by its shape. */
export function isEmbeddingList(body: Json): boolean {
  return Array.isArray(body.data) && body.data.every((one) => readObject(one).embedding !== undefined)
}

/** A count of tokens in the messages style, by its shape. */
export function isTokenCount(body: Json): boolean {
  return readCount(body.input_tokens) !== null
}
