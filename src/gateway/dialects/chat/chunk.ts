import { isDeeperThan, MAX_JSON_DEPTH } from '../../../kernel/json-depth.ts'
import { backendFailed, type Failure, readFailure } from '../failure.ts'
import type { AnswerUsage } from '../neutral.ts'
import type { SseEvent } from '../sse/decode.ts'
import { isObject, type Json, readCount, readList, readName, readObject, readText } from '../json/read-json.ts'

/**
 * A piece of a tool call. Some engines leave out `index`, others `id`. `args` is a fragment of JSON text, or of the
 * free text of a custom tool.
 */
export type ToolDelta = {
  readonly index: number | null
  readonly position: number
  readonly id: string | null
  readonly name: string
  readonly args: string
}

export type ChatDelta = {
  readonly reasoning: string
  readonly text: string
  readonly refusal: string
  readonly tools: readonly ToolDelta[]
}

/** One event of a chat stream, or a whole chat completion, read. */
export type ChatEvent =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'done' }
  | { readonly kind: 'error'; readonly failure: Failure }
  | {
      readonly kind: 'chunk'
      readonly delta: ChatDelta
      /** `finish_reason` as the engine wrote it. */
      readonly finish: string | null
      /** The stop sequence that ended the text, where the engine tells. */
      readonly stopSequence: string | null
      readonly usage: AnswerUsage | null
      /** The model as the engine names it. */
      readonly model: string | null
    }

/**
 * Reads one event of a chat completions stream. It takes what engines really send (no `choices`, a null delta, unknown
 * or missing fields) and never throws. Text that is no JSON is an error: what it was meant to say is lost.
 */
export function readChatEvent({ event, data }: SseEvent): ChatEvent {
  const text = data.trim()
  if (text === '') return { kind: 'nothing' }
  if (text === '[DONE]') return { kind: 'done' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return failed(event === 'error' ? text : 'The engine sent an event that is not JSON.')
  }
  if (isDeeperThan(value, MAX_JSON_DEPTH)) return failed('The engine sent an event that is nested too deep.')
  if (event === 'error') return { kind: 'error', failure: readFailure(value) }
  return isObject(value) ? readChat(value, 'delta') : { kind: 'nothing' }
}

/** Reads a whole chat completion as if it were one chunk. A body that holds no answer is an error. */
export function readCompletion(body: unknown): ChatEvent {
  if (!isObject(body)) return failed('The engine did not answer with a JSON object.')
  if (!isError(body) && firstChoice(body) === null) return failed('The engine answered without a choice.')
  return readChat(body, 'message')
}

function readChat(body: Json, member: 'delta' | 'message'): ChatEvent {
  if (isError(body)) return { kind: 'error', failure: readFailure(body) }
  const choice = firstChoice(body)
  return {
    kind: 'chunk',
    delta: readDelta(readObject(choice?.[member])),
    finish: readName(choice?.finish_reason),
    stopSequence: readName(choice?.stop_reason) ?? readName(choice?.matched_stop),
    usage: readUsage(body.usage),
    model: readName(body.model),
  }
}

function failed(message: string): ChatEvent {
  return { kind: 'error', failure: backendFailed(message) }
}

function isError(body: Json): boolean {
  return isObject(body.error) || readName(body.error) !== null || body.object === 'error'
}

/** Only one answer was asked for, so only the first choice counts; engines may leave out its number. */
function firstChoice(body: Json): Json | null {
  const choice = readList(body.choices).find((one) => isObject(one) && (readCount(one.index) ?? 0) === 0)
  return isObject(choice) ? choice : null
}

function readDelta(delta: Json): ChatDelta {
  const calls = readList(delta.tool_calls)
  const legacy = isObject(delta.function_call) ? [{ index: 0, function: delta.function_call }] : []
  return {
    // Engines call it by either name; one that sends both sends the same text twice.
    reasoning: readContent(delta.reasoning_content) || readContent(delta.reasoning),
    text: readContent(delta.content),
    refusal: readText(delta.refusal),
    tools: (calls.length > 0 ? calls : legacy).filter(isObject).map(readToolDelta),
  }
}

function readContent(content: unknown): string {
  if (typeof content === 'string') return content
  return readList(content)
    .map((part) => readText(readObject(part).text))
    .join('')
}

function readToolDelta(call: Json, position: number): ToolDelta {
  const called = readObject(call.custom ?? call.function)
  const args = called.input ?? called.arguments
  return {
    index: readCount(call.index),
    position,
    id: readName(call.id),
    name: readText(called.name),
    args: isObject(args) ? JSON.stringify(args) : readText(args),
  }
}

function readUsage(value: unknown): AnswerUsage | null {
  if (!isObject(value)) return null
  const input = readObject(value.prompt_tokens_details)
  return {
    input: readCount(value.prompt_tokens) ?? 0,
    cached: readCount(input.cached_tokens) ?? 0,
    written: readCount(input.cache_write_tokens) ?? 0,
    writtenLong: readCount(readObject(input.cache_write_tokens_details).ttl_12h_tokens) ?? 0,
    output: readCount(value.completion_tokens) ?? 0,
    reasoning: readCount(readObject(value.completion_tokens_details).reasoning_tokens) ?? 0,
  }
}
