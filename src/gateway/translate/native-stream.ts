import type { SseEvent } from '../sse/decode.ts'
import { readEngineError } from './chat.ts'
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
    fail: (message) => [messagesFailure({ message, contextExceeded: false })],
  })
}

/** The same for the responses style, where a failure is always `response.failed`: agents overlook `error` events. */
export function nativeResponsesStream({ model }: Named): StreamTranslator {
  let response: Json = {}
  let sequence = -1

  const fail = (message: string): SseEvent[] => {
    const error = { code: 'server_error', message }
    const failed = { ...NO_RESPONSE, model, ...response, status: 'failed', error }
    const data = { type: 'response.failed', sequence_number: sequence + 1, response: failed }
    return [{ event: 'response.failed', data: JSON.stringify(data) }]
  }
  return passEvents({
    endOf: (type) => RESPONSE_ENDS.get(type) ?? 'open',
    show(event, body) {
      if (readText(body.type) === 'error') return fail(readEngineError(body).message)
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
  readonly fail: (message: string) => SseEvent[]
}

function passEvents({ endOf, show, fail }: Passing): StreamTranslator {
  let state: State = 'open'

  function failWith(message: string): SseEvent[] {
    if (state !== 'open') return []
    state = 'failed'
    return fail(message)
  }

  return {
    push(event) {
      if (state !== 'open') return []
      const body = parseObject(event.data)
      // Some engines close every stream with `[DONE]`, which neither style knows.
      if (!body) return event.data.trim() === '[DONE]' ? [] : failWith('The engine sent an event that is not JSON.')
      const type = readText(body.type)
      state = endOf(type)
      return show({ event: event.event ?? type, data: event.data }, body)
    },
    end: () => failWith('The engine ended its answer too early.'),
    fail: failWith,
    outcome: () => ({ state, usage: null }),
  }
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
