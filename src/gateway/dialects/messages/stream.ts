import type { SseEvent } from '../sse/decode.ts'
import type { NewId, StreamTranslator } from '../dialect.ts'
import type { Failure } from '../failure.ts'
import type { ChatUsage } from '../chat/chunk.ts'
import { type AnswerEvent, chatAnswer, type Finish, renderAnswer } from '../chat/answer.ts'
import type { OpenPart } from '../chat/parts.ts'
import { LOCAL_REASONING } from '../local-reasoning.ts'
import type { MessagesFacts } from './to-chat.ts'
import type { Json } from '../json/read-json.ts'

export type MessagesOptions = {
  /** The service model id, which the answer names. */
  readonly model: string
  readonly newId: NewId
  readonly facts: MessagesFacts
}

/**
 * A chat stream as the events of the messages style: message_start, content blocks one after the other, message_delta with
 * the stop reason and the final usage, message_stop. A failure ends it with an `error` event and nothing else.
 */
export function messagesStream({ model, newId, facts }: MessagesOptions): StreamTranslator {
  const answer = chatAnswer({ newId, argumentsMustBeObjects: true })
  let index = -1

  function render(event: AnswerEvent): SseEvent[] {
    switch (event.type) {
      case 'start':
        return [toEvent('message_start', { message: toMessage({ id: newId('msg_'), model, content: [] }) })]
      case 'open':
        index++
        return [toEvent('content_block_start', { index, content_block: toBlock(event.part, null) })]
      case 'delta':
        return [toEvent('content_block_delta', { index, delta: toDelta(event.part, event.text) })]
      case 'close':
        return [...sign(event.part, index), toEvent('content_block_stop', { index })]
      case 'finish': {
        const { usage, ...delta } = toEnd(event, facts)
        return [toEvent('message_delta', { delta, usage }), toEvent('message_stop', {})]
      }
      case 'fail':
        return [messagesFailure(event.failure)]
    }
  }
  return renderAnswer(answer, render)
}

/**
 * The event that ends a stream of the messages style in failure. The words for a prompt that is too long are the vendor's:
 * clients look for them and then shorten the conversation.
 */
export function messagesFailure({ kind, message }: Failure): SseEvent {
  const error =
    kind === 'context'
      ? { type: 'invalid_request_error', message: `prompt is too long: ${message}` }
      : { type: 'api_error', message }
  return toEvent('error', { error })
}

/** A message of the assistant; without an end it is still being written. */
export function toMessage(
  { id, model, content }: { id: string; model: string; content: readonly Json[] },
  end: MessageEnd = { stop_reason: null, stop_sequence: null, usage: toUsage(null) },
): Json {
  return { id, type: 'message', role: 'assistant', model, content, ...end }
}

export type MessageEnd = {
  readonly stop_reason: string | null
  readonly stop_sequence: string | null
  readonly usage: Json
}

/** Why a message ended and what it cost. */
export function toEnd(event: Extract<AnswerEvent, { type: 'finish' }>, { stopSequences }: MessagesFacts): MessageEnd {
  const matched = event.stopSequence !== null && stopSequences.includes(event.stopSequence)
  return {
    stop_reason: event.finish === 'stop' && matched ? 'stop_sequence' : STOP_REASONS[event.finish],
    stop_sequence: event.finish === 'stop' && matched ? event.stopSequence : null,
    usage: toUsage(event.usage),
  }
}

const STOP_REASONS = {
  stop: 'end_turn',
  length: 'max_tokens',
  filter: 'refusal',
  refusal: 'refusal',
  tools: 'tool_use',
} as const satisfies Record<Finish, string>

/** Counts of this style leave cached tokens out of `input_tokens`; those of the chat style have them in. */
function toUsage(usage: ChatUsage | null): Json {
  const cached = Math.min(usage?.cachedTokens ?? 0, usage?.promptTokens ?? 0)
  return {
    input_tokens: (usage?.promptTokens ?? 0) - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: usage?.completionTokens ?? 0,
  }
}

/** A block with all of its content, or as it is when it opens (`said` null). */
export function toBlock(part: OpenPart, said: { text: string; input: Json } | null): Json {
  switch (part.kind) {
    case 'tool':
      return { type: 'tool_use', id: toToolUseId(part.id), name: part.name, input: said?.input ?? {} }
    case 'reasoning':
      return { type: 'thinking', thinking: said?.text ?? '', signature: said ? LOCAL_REASONING : '' }
    case 'text':
    case 'refusal':
      return { type: 'text', text: said?.text ?? '' }
  }
}

/** The vendor refuses a history with ids outside of this alphabet, and a session may go on there. */
function toToolUseId(id: string): string {
  return id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
}

function toDelta(part: OpenPart, text: string): Json {
  switch (part.kind) {
    case 'tool':
      return { type: 'input_json_delta', partial_json: text }
    case 'reasoning':
      return { type: 'thinking_delta', thinking: text }
    case 'text':
    case 'refusal':
      return { type: 'text_delta', text }
  }
}

function sign(part: OpenPart, index: number): SseEvent[] {
  if (part.kind !== 'reasoning') return []
  return [toEvent('content_block_delta', { index, delta: { type: 'signature_delta', signature: LOCAL_REASONING } })]
}

function toEvent(type: string, members: Json): SseEvent {
  return { event: type, data: JSON.stringify({ type, ...members }) }
}
