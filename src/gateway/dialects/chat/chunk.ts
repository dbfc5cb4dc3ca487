import { isObject, isTooDeep, parseJson } from '../../../kernel/json.ts'
import { backendFailed, isErrorObject, NOT_JSON, readFailure } from '../failures/failure.ts'
import type { Failure } from '../failures/failure.ts'
import { readUrlCitations } from '../parts/citations.ts'
import type { Citation } from '../neutral.ts'
import type { SseEvent } from '../sse/decode.ts'
import { readArguments, readCount, readList, readName, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { readUsage } from '../tokens/usage.ts'
import type { Usage } from '../tokens/usage.ts'
import { readDetails, readExtras } from './replay-data.ts'

/**
 * A fragment of a tool call. Some engines omit `index`, others `id`. `position` is its place in the list of the chunk.
 * `args` is a fragment of JSON text, or of the free text of a custom tool.
 */
export type ToolDelta = {
  readonly index: number | null
  readonly position: number
  readonly id: string | null
  readonly name: string
  readonly args: string
  readonly isFreeText: boolean
  /** The replay data of the call (`extra_content`). */
  readonly extras: Json | null
}

/** What one chunk adds to the answer. */
export type ChatDelta = {
  readonly reasoning: string
  /** The replay data of the message (`reasoning_details`), or fragments of it. */
  readonly details: readonly Json[]
  readonly text: string
  /** The log probabilities of the text's tokens. */
  readonly logprobs: readonly unknown[]
  readonly citations: readonly Citation[]
  readonly refusal: string
  readonly tools: readonly ToolDelta[]
}

/** The content of one event of a chat stream, or of a whole chat completion. */
export type ChatEvent =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'done' }
  | { readonly kind: 'error'; readonly failure: Failure }
  | {
      readonly kind: 'chunk'
      readonly delta: ChatDelta
      /** The chunk has something of another choice than the first one, which is not read. */
      readonly hasOthers: boolean
      /** `finish_reason` as the engine wrote it. */
      readonly finish: string | null
      /** The stop sequence that ended the text; null when the engine does not report it. */
      readonly stopSequence: string | null
      readonly usage: Usage | null
      /** The model as the engine names it. */
      readonly model: string | null
    }

/**
 * Reads one event of a chat completions stream. Never throws: it accepts what engines really send, such as no
 * `choices`, a null delta, and unknown or missing fields. Data that is not JSON is an error, because its content is
 * lost.
 */
export function readChatEvent({ event, data }: SseEvent): ChatEvent {
  const text = data.trim()
  if (text === '') return { kind: 'nothing' }
  if (text === '[DONE]') return { kind: 'done' }
  const value = parseJson(text)
  if (value === undefined) return failed(event === 'error' ? text : NOT_JSON.message)
  if (isTooDeep(value)) return failed('The backend sent an event that is nested too deep.')
  if (event === 'error') return { kind: 'error', failure: readFailure(value) }
  return isObject(value) ? readChat(value, 'delta') : { kind: 'nothing' }
}

/** Whether an event only announces an answer: it has the role of the message and nothing else of it. */
export function isPreamble(event: SseEvent): boolean {
  if (!/"role"\s*:\s*"/.test(event.data)) return false
  const read = readChatEvent(event)
  return read.kind === 'chunk' && !hasContent(read.delta) && read.finish === null && read.usage === null
}

/** An event with a chunk of the answer. */
export type ChatChunk = Extract<ChatEvent, { kind: 'chunk' }>

/** Watches the finish reasons of a stream. It must see each chunk. */
export function watchFinish() {
  let reason: string | null = null
  /** The answer goes on behind a reason: in another choice, or from engines that write a reason in each chunk. */
  let goesOn = false
  return {
    see({ finish, delta, hasOthers }: ChatChunk): void {
      goesOn ||= hasOthers || (reason !== null && hasContent(delta))
      // Google adds details: `content_filter: RECITATION`.
      reason = finish?.toLowerCase().split(':')[0] ?? reason
    },
    /** The last reason, in lower case and without details; null: there was none. */
    reason: () => reason,
    /** Whether the backend has said why its answer ends, and only its usage may follow. */
    isFinishing: () => reason !== null && !goesOn,
  }
}

function hasContent({ reasoning, text, refusal, tools }: ChatDelta): boolean {
  return tools.length > 0 || [reasoning, text, refusal].some((part) => part !== '')
}

/** Reads a whole chat completion as if it were one chunk. A body without an answer is an error. */
export function readCompletion(body: unknown): ChatEvent {
  if (!isObject(body)) return failed('The backend did not answer with a JSON object.')
  if (!isError(body) && firstChoice(body) === null) return failed('The backend answered without a choice.')
  const read = readChat(body, 'message')
  if (read.kind !== 'chunk') return read
  // Each entry is a call of its own. In a chunk, one without an index may continue a call with the same id.
  const tools = read.delta.tools.map((call) => ({ ...call, index: call.position }))
  return { ...read, delta: { ...read.delta, tools } }
}

function readChat(body: Json, member: 'delta' | 'message'): ChatEvent {
  const choice = firstChoice(body)
  // OpenRouter reports the failure of a choice in the choice (its API reference, `NonStreamingChoice`).
  const failing = [body, choice].find((one) => one !== null && isError(one))
  if (failing) return { kind: 'error', failure: readFailure(failing) }
  return {
    kind: 'chunk',
    delta: readDelta(readObject(choice?.[member]), readList(readObject(choice?.logprobs).content)),
    hasOthers: readList(body.choices).some((one) => !isFirst(readObject(one))),
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
  return isObject(body.error) || readName(body.error) !== null || isErrorObject(body)
}

/** The first choice: translated requests never ask for more. */
function firstChoice(body: Json): Json | null {
  return readList(body.choices).filter(isObject).find(isFirst) ?? null
}

/** Some engines omit the index. */
function isFirst({ index }: Json): boolean {
  return (readCount(index) ?? 0) === 0
}

function readDelta(delta: Json, logprobs: readonly unknown[]): ChatDelta {
  const calls = readList(delta.tool_calls)
  const legacy = isObject(delta.function_call) ? [{ index: 0, function: delta.function_call }] : []
  return {
    // Engines use one of these names. An engine that uses both sends the same text twice.
    reasoning: readContent(delta.reasoning_content) || readContent(delta.reasoning) || readThinking(delta.content),
    details: readDetails(delta),
    text: readContent(delta.content),
    logprobs,
    citations: readUrlCitations(delta.annotations),
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

/** Mistral's models write their reasoning as parts of the content. */
function readThinking(content: unknown): string {
  return readList(content)
    .map((part) => readContent(readObject(part).thinking))
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
    args: readArguments(args),
    isFreeText: isObject(call.custom),
    extras: readExtras(call),
  }
}
