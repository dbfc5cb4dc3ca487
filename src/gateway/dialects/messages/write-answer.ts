import type { Failure } from '../failure.ts'
import type { AnswerWriter, Hub } from '../hub.ts'
import { type Json, parseExactly } from '../json/read-json.ts'
import { LOCAL_REASONING } from '../local-reasoning.ts'
import type { AnswerEvent, AnswerUsage, Finish, FinishEvent, OpenPart } from '../neutral.ts'
import type { SseEvent } from '../sse/decode.ts'
import { toCallId } from '../tool-names.ts'
import { writeMessagesError } from './errors.ts'

type Needs = {
  readonly hub: Hub
  /** The client's own; it is told of no other. */
  readonly stopSequences: readonly string[]
}

type CloseEvent = Extract<AnswerEvent, { type: 'close' }>

/**
 * Writes answers of the messages dialect: message_start, content blocks one after the other, message_delta with the
 * stop reason and the final usage, message_stop. A failure ends a stream with an `error` event and nothing else.
 */
export function makeMessagesWriter({ hub, stopSequences }: Needs): AnswerWriter {
  let index = -1

  const newMessage = (content: readonly Json[], end: MessageEnd): Json => {
    return { id: hub.newId('msg_'), type: 'message', role: 'assistant', model: hub.model, content, ...end }
  }

  return {
    write(event) {
      switch (event.type) {
        case 'start':
          return [toEvent('message_start', { message: newMessage([], NOT_ENDED) })]
        case 'open':
          index++
          return [toEvent('content_block_start', { index, content_block: openBlock(event.part) })]
        case 'delta':
          return [toEvent('content_block_delta', { index, delta: toDelta(event.part, event.text) })]
        case 'close':
          return [...sign(event, index, hub), toEvent('content_block_stop', { index })]
        case 'finish': {
          const { usage, ...delta } = toEnd(event, stopSequences)
          return [toEvent('message_delta', { delta, usage }), toEvent('message_stop', {})]
        }
        case 'fail':
          return [messagesFailure(event.failure)]
      }
    },
    whole(events) {
      const content = events.flatMap((event) => (event.type === 'close' ? wholeBlock(event, hub) : []))
      const end = events.find((event) => event.type === 'finish')
      return newMessage(content, end ? toEnd(end, stopSequences) : NOT_ENDED)
    },
  }
}

/** The event that ends a stream of the messages dialect in failure. */
export function messagesFailure(failure: Failure): SseEvent {
  return toEvent('error', { error: writeMessagesError(failure) })
}

type MessageEnd = { readonly stop_reason: string | null; readonly stop_sequence: string | null; readonly usage: Json }

/** Why a message ended and what it cost. */
function toEnd({ finish, stopSequence, usage }: FinishEvent, stopSequences: readonly string[]): MessageEnd {
  const isKnown = finish === 'stopSequence' && stopSequence !== null && stopSequences.includes(stopSequence)
  return {
    stop_reason: finish === 'stopSequence' && !isKnown ? 'end_turn' : STOP_REASONS[finish],
    stop_sequence: isKnown ? stopSequence : null,
    usage: toUsage(usage),
  }
}

const STOP_REASONS: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  stopSequence: 'stop_sequence',
  length: 'max_tokens',
  context: 'model_context_window_exceeded',
  filter: 'refusal',
  refusal: 'refusal',
  tools: 'tool_use',
  pause: 'pause_turn',
}

/** Counts of this dialect leave tokens of a cache out of `input_tokens`; those of the others have them in. */
function toUsage(usage: AnswerUsage | null): Json {
  const { input = 0, cached = 0, written = 0, writtenLong = 0, output = 0, reasoning = 0 } = usage ?? {}
  const read = Math.min(cached, input)
  const stored = Math.min(written, input - read)
  const details = { ephemeral_5m_input_tokens: stored - writtenLong, ephemeral_1h_input_tokens: writtenLong }
  return {
    input_tokens: input - read - stored,
    cache_creation_input_tokens: stored,
    cache_read_input_tokens: read,
    output_tokens: output,
    ...(stored > 0 && { cache_creation: details }),
    ...(reasoning > 0 && { output_tokens_details: { thinking_tokens: reasoning } }),
  }
}

const NOT_ENDED: MessageEnd = { stop_reason: null, stop_sequence: null, usage: toUsage(null) }

function openBlock(part: OpenPart): Json {
  if (part.kind === 'tool') return { type: 'tool_use', id: toCallId(part.id), name: part.tool.name, input: {} }
  return part.kind === 'reasoning' ? { type: 'thinking', thinking: '', signature: '' } : { type: 'text', text: '' }
}

/** A block with all of its content. A call that was cut off has no object of arguments, so it is left out. */
function wholeBlock({ part, text, seal }: CloseEvent, hub: Hub): Json[] {
  if (part.kind === 'reasoning') return [{ type: 'thinking', thinking: text, signature: signatureOf(seal, text, hub) }]
  if (part.kind !== 'tool') return [{ type: 'text', text }]
  const input = parseExactly(text)
  return input === null ? [] : [{ type: 'tool_use', id: toCallId(part.id), name: part.tool.name, input }]
}

function toDelta(part: OpenPart, text: string): Json {
  if (part.kind === 'tool') return { type: 'input_json_delta', partial_json: text }
  return part.kind === 'reasoning' ? { type: 'thinking_delta', thinking: text } : { type: 'text_delta', text }
}

/** In one piece: the vendor's client takes the last one for all. */
function sign({ part, text, seal }: CloseEvent, index: number, hub: Hub): SseEvent[] {
  if (part.kind !== 'reasoning') return []
  const signature = signatureOf(seal, text, hub)
  return [toEvent('content_block_delta', { index, delta: { type: 'signature_delta', signature } })]
}

function signatureOf(seal: CloseEvent['seal'], text: string, { seals }: Hub): string {
  return seals && seal ? seals.write(seal, text) : LOCAL_REASONING
}

function toEvent(type: string, members: Json): SseEvent {
  return { event: type, data: JSON.stringify({ type, ...members }) }
}
