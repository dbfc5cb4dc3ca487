import type { Failure } from '../failures/failure.ts'
import { parseExactly } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { UNSIGNED_MARK } from '../unsigned-content.ts'
import type { CloseEvent, Finish, FinishEvent, OpenPart } from '../neutral.ts'
import type { SseEvent } from '../sse/decode.ts'
import { NO_USAGE } from '../tokens/usage.ts'
import type { Usage } from '../tokens/usage.ts'
import { toCallId } from '../tools/call-ids.ts'
import type { AnswerWriter, TranslationContext } from '../translated-dialect.ts'
import { writeMessagesError } from './errors.ts'

type Needs = {
  readonly context: TranslationContext
  /** The stop sequences of the client's request. No other one is reported to the client. */
  readonly stopSequences: readonly string[]
}

/**
 * Makes a writer for an answer of the messages dialect. A stream is: message_start, content blocks one after the other,
 * message_delta with the stop reason and the final usage, message_stop. A failure ends a stream with an `error` event.
 */
export function makeMessagesWriter({ context, stopSequences }: Needs): AnswerWriter {
  let index = -1
  let searches = 0

  const newMessage = (content: readonly Json[], end: MessageEnd): Json => {
    const head = { id: context.newId('msg_'), type: 'message', role: 'assistant', model: context.model }
    return { ...head, content, diagnostics: null, ...end }
  }

  function toSearchEvents(event: CloseEvent): SseEvent[] {
    searches++
    return writeSearch(event, context).flatMap((block) => toWholeEvents(block, ++index))
  }

  return {
    write(event) {
      switch (event.type) {
        case 'start':
          return [toEvent('message_start', { message: newMessage([], NOT_ENDED) })]
        case 'open':
          // A search is written when it is done, because its result follows it directly.
          if (event.part.kind === 'search') return []
          index++
          return [toEvent('content_block_start', { index, content_block: openBlock(event.part) })]
        case 'delta':
          if (event.part.kind === 'search') return []
          return [toEvent('content_block_delta', { index, delta: toDelta(event.part, event.text) })]
        case 'close':
          if (event.part.kind === 'search') return toSearchEvents(event)
          return [...toLastDeltas(event, index, context), toEvent('content_block_stop', { index })]
        case 'finish': {
          const { usage, ...delta } = toEnd(event, stopSequences, searches)
          return [toEvent('message_delta', { delta, usage }), toEvent('message_stop', {})]
        }
        case 'fail':
          return [messagesFailure(event.failure)]
      }
    },
    whole(events) {
      const content = events.flatMap((event) => (event.type === 'close' ? wholeBlock(event, context) : []))
      const end = events.find((event) => event.type === 'finish')
      const searched = content.filter(({ type }) => type === 'server_tool_use').length
      return newMessage(content, end ? toEnd(end, stopSequences, searched) : NOT_ENDED)
    },
  }
}

/** Returns the event that ends a messages stream with a failure. */
export function messagesFailure(failure: Failure): SseEvent {
  return toEvent('error', { error: writeMessagesError(failure) })
}

type MessageEnd = {
  readonly container: null
  readonly stop_reason: string | null
  readonly stop_sequence: string | null
  readonly stop_details: Json | null
  readonly usage: Json
}

/** Why a message ended and what it cost. `searches`: the number of web searches. */
function toEnd(
  { finish, stopSequence, usage }: FinishEvent,
  stopSequences: readonly string[],
  searches: number,
): MessageEnd {
  const isKnown = finish === 'stopSequence' && stopSequence !== null && stopSequences.includes(stopSequence)
  const stop_reason = finish === 'stopSequence' && !isKnown ? 'end_turn' : STOP_REASONS[finish]
  return {
    container: null,
    stop_reason,
    stop_sequence: isKnown ? stopSequence : null,
    stop_details: stop_reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
    usage: { ...toUsage(usage), ...(searches > 0 && { server_tool_use: searchesOf(searches) }) },
  }
}

const STOP_REASONS: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  stopSequence: 'stop_sequence',
  length: 'max_tokens',
  context: 'model_context_window_exceeded',
  filter: 'refusal',
  blocked: 'refusal',
  refusal: 'refusal',
  tools: 'tool_use',
  pause: 'pause_turn',
}

function searchesOf(count: number): Json {
  return { web_search_requests: count, web_fetch_requests: 0 }
}

/** Members that are not known are null, because the vendor's types have every member. */
function toUsage(usage: Usage | null): Json {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens, outputTokens, reasoningTokens } =
    usage ?? NO_USAGE
  const [short, long] = [cacheWriteTokens ?? 0, cacheWriteLongTokens ?? 0]
  return {
    input_tokens: inputTokens ?? 0,
    cache_creation_input_tokens: short + long,
    cache_read_input_tokens: cacheReadTokens ?? 0,
    output_tokens: outputTokens ?? 0,
    cache_creation: short + long > 0 ? { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long } : null,
    output_tokens_details: reasoningTokens ? { thinking_tokens: reasoningTokens } : null,
    server_tool_use: null,
    service_tier: null,
    inference_geo: null,
    speed: null,
  }
}

const NOT_ENDED: MessageEnd = {
  container: null,
  stop_reason: null,
  stop_sequence: null,
  stop_details: null,
  usage: toUsage(null),
}

function openBlock(part: OpenPart): Json {
  if (part.kind === 'tool') return toToolUse(part, {})
  if (part.kind === 'reasoning') return { type: 'thinking', thinking: '', signature: '' }
  return { type: 'text', text: '' }
}

function toToolUse({ id, tool }: Extract<OpenPart, { kind: 'tool' }>, input: Json): Json {
  return { type: 'tool_use', id: toCallId(id), name: tool.name, input, caller: DIRECT }
}

/** Writes a whole block. A call that was cut off is left out, because its arguments are not a complete object. */
function wholeBlock(event: CloseEvent, context: TranslationContext): Json[] {
  const { part, text, seal } = event
  if (part.kind === 'search') return writeSearch(event, context)
  if (part.kind === 'reasoning')
    return [{ type: 'thinking', thinking: text, signature: signatureOf(seal, text, context) }]
  const citations = writeCitations(event, context)
  // `citations` is absent where there are none, as in the vendor's answers: the AI SDK 5 and 6 refuse null.
  if (part.kind !== 'tool') return [{ type: 'text', text, ...(citations.length > 0 && { citations }) }]
  const input = parseExactly(text)
  return input === null ? [] : [toToolUse(part, input)]
}

function toDelta(part: OpenPart, text: string): Json {
  if (part.kind === 'tool') return { type: 'input_json_delta', partial_json: text }
  return part.kind === 'reasoning' ? { type: 'thinking_delta', thinking: text } : { type: 'text_delta', text }
}

/**
 * The deltas that follow the text of a part: the citations of a text, the signature of reasoning. The signature is one
 * delta, because the vendor's client keeps only the last one.
 */
function toLastDeltas(event: CloseEvent, index: number, context: TranslationContext): SseEvent[] {
  const { part, text, seal } = event
  const deltas =
    part.kind === 'reasoning'
      ? [{ type: 'signature_delta', signature: signatureOf(seal, text, context) }]
      : writeCitations(event, context).map((citation) => ({ type: 'citations_delta', citation }))
  return deltas.map((delta) => toEvent('content_block_delta', { index, delta }))
}

function writeCitations({ citations = [], text }: CloseEvent, context: TranslationContext): Json[] {
  return citations.map(({ url, title, range }) => ({
    type: 'web_search_result_location',
    url,
    title: title ?? url,
    // Vendors do not say what they count, so a range may begin or end in the middle of a character.
    cited_text: range ? text.slice(range.start, range.end).toWellFormed() : text,
    encrypted_index: markOf(context),
  }))
}

/** Writes a search of the backend as the call of a tool that the vendor runs, and its result. */
function writeSearch({ text: query, found = [] }: CloseEvent, context: TranslationContext): Json[] {
  const id = context.newId('srvtoolu_')
  const pages = found.map(({ url, title }) => ({
    type: 'web_search_result',
    url,
    title: title ?? url,
    encrypted_content: markOf(context),
    page_age: null,
  }))
  return [
    { type: 'server_tool_use', id, name: 'web_search', input: { query }, caller: DIRECT },
    { type: 'web_search_tool_result', tool_use_id: id, content: pages, caller: DIRECT },
  ]
}

const DIRECT = { type: 'direct' }

/** The events of a block that is known as a whole. */
function toWholeEvents(block: Json, index: number): SseEvent[] {
  const { input } = block
  const hasInput = input !== undefined
  const delta = { type: 'input_json_delta', partial_json: JSON.stringify(input) }
  return [
    toEvent('content_block_start', { index, content_block: hasInput ? { ...block, input: {} } : block }),
    ...(hasInput ? [toEvent('content_block_delta', { index, delta })] : []),
    toEvent('content_block_stop', { index }),
  ]
}

/** Replaces what only the vendor can write. It is removed when the conversation goes to that vendor. */
function markOf({ seals }: TranslationContext): string {
  return seals ? seals.write({ kind: 'plain', data: '', before: null }, '') : UNSIGNED_MARK
}

function signatureOf(seal: CloseEvent['seal'], text: string, { seals }: TranslationContext): string {
  return seals && seal ? seals.write(seal, text) : UNSIGNED_MARK
}

function toEvent(type: string, members: Json): SseEvent {
  return { event: type, data: JSON.stringify({ type, ...members }) }
}
