import type {
  ChatCompletionChunk,
  ChatCompletionRequest,
  MessageRequest,
  MessageStreamEvent,
  ResponseRequest,
  ResponseStreamEvent,
} from '#openapi'
import type { SvcClient } from './client.ts'
import { envelopeOf, errorOf, streamError } from './errors.ts'
import type { StreamError } from './errors.ts'
import { eventData, parseEvent } from './events.ts'
import type { StreamOptions } from './events.ts'

/**
 * Calls a model in the chat completions dialect and yields the chunks of its answer. Throws a `StreamError` when the
 * stream is cut off.
 */
export function streamChatCompletion(
  client: SvcClient,
  body: ChatCompletionRequest,
  { signal }: StreamOptions = {},
): AsyncGenerator<ChatCompletionChunk> {
  const init = { body: { ...body, stream: true }, parseAs: 'stream', signal: signal ?? null } as const
  return typedEvents(
    () => client.POST('/v1/chat/completions', init),
    () => false,
    signal,
  )
}

export type ResponseStreamOptions = StreamOptions & {
  /** The route. Default: `/v1/responses`; the other one is vendor C's. */
  readonly path?: '/v1/responses' | '/codex/v1/responses' | undefined
}

/**
 * Calls a model in the responses dialect and yields the events of its answer. Throws a `StreamError` when the stream is
 * cut off.
 */
export function streamResponse(
  client: SvcClient,
  body: ResponseRequest,
  { signal, path = '/v1/responses' }: ResponseStreamOptions = {},
): AsyncGenerator<ResponseStreamEvent> {
  const init = { body: { ...body, stream: true }, parseAs: 'stream', signal: signal ?? null } as const
  return typedEvents(
    () => client.POST(path, init),
    ({ type }) => ['response.completed', 'response.incomplete', 'response.failed'].includes(type),
    signal,
  )
}

/**
 * Calls a model in the messages dialect and yields the events of its answer. Throws a `StreamError` when the stream is
 * cut off.
 */
export function streamMessage(
  client: SvcClient,
  body: MessageRequest,
  { signal }: StreamOptions = {},
): AsyncGenerator<MessageStreamEvent> {
  const init = { body: { ...body, stream: true }, parseAs: 'stream', signal: signal ?? null } as const
  return typedEvents(
    () => client.POST('/vendorb/v1/messages', init),
    ({ type }) => type === 'message_stop',
    signal,
  )
}

type Opened = { readonly data?: unknown; readonly error?: unknown; readonly response: Response }

/** Yields the events of a call until `[DONE]` or the last event. */
async function* typedEvents<Event extends object>(
  open: () => Promise<Opened>,
  isLast: (event: Event) => boolean,
  signal: AbortSignal | undefined,
): AsyncGenerator<Event> {
  const { data, error, response } = await open()
  if (!response.ok) throw errorOf(response, error)
  // With `parseAs: 'stream'` the data is the body of the answer, which can be missing behind a proxy.
  const body = data as ReadableStream<Uint8Array> | undefined
  for await (const text of body ? dataUntilBreak(body, signal) : []) {
    if (text === '[DONE]') return
    const event = parseEvent(text, response) as Event
    if (isFailure(event)) throw failureOf(response, event)
    yield event
    if (isLast(event)) return
  }
  throw streamError(response, 'stream_cut', 'The stream was cut off before its end.', null)
}

/** Yields the data of the events. A broken connection ends it, like one that is closed; an abort throws its reason. */
async function* dataUntilBreak(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  try {
    yield* eventData(body, signal)
  } catch {
    signal?.throwIfAborted()
  }
}

/** Whether an event reports an error: `{"error": ...}`, in some dialects with `"type": "error"`. */
function isFailure(event: object): boolean {
  return ('type' in event && event.type === 'error') || ('error' in event && Boolean(event.error))
}

function failureOf(response: Response, event: object): StreamError {
  const { code, message } = envelopeOf('error' in event ? event : { error: event })
  return streamError(response, code ?? 'stream_failed', message ?? 'The stream ended with an error.', event)
}
