import type { ErrorAnswer } from '../dialect.ts'
import { hasErrorMessage } from '../failures/error-body.ts'
import { FAILURES, clientMessageOf } from '../failures/failure-table.ts'
import { statusOf, typeOfStatus } from '../failures/failure.ts'
import type { Failure } from '../failures/failure.ts'
import type { Json } from '../json/read-json.ts'

/** Writes the `error` member of an error body or event. */
export function writeMessagesError(failure: Failure): Json {
  return { type: FAILURES[failure.kind].messagesType, message: toMessage(failure, clientMessageOf(failure)) }
}

/** Writes a backend's own error, with its status and its message. */
export function messagesErrorAnswer(given: number, failure: Failure, own: Json = {}): ErrorAnswer {
  const status = statusOf(given, failure)
  const error = { ...own, type: typeOfStatus(status), message: toMessage(failure, failure.message) }
  return { status, body: { type: 'error', error } }
}

/** Whether a body is an error of the messages dialect. */
export function isMessagesErrorBody(body: unknown): boolean {
  return hasErrorMessage(body) && body.type === 'error' && typeof body.error.type === 'string'
}

/** Writes the failure of a backend of another dialect. */
export function messagesFailureAnswer(failure: Failure): ErrorAnswer {
  const { status, messagesStatus = status } = FAILURES[failure.kind]
  return { status: messagesStatus, body: { type: 'error', error: writeMessagesError(failure) } }
}

/**
 * Clients look for the vendor's message about a prompt that is too long, and then shorten the conversation. Where the
 * prompt fits and only its sum with the token limit is too large, another message makes them lower the limit.
 */
function toMessage({ kind }: Failure, message: string): string {
  if (kind !== 'context' || /^prompt is too long|^input length and/i.test(message)) return message
  const sum = readSum(message)
  if (sum === null || sum.input >= sum.window) return `prompt is too long: ${message}`
  const { input, output, window } = sum
  return `input length and \`max_tokens\` exceed context limit: ${input} + ${output} > ${window}, ${message}`
}

type Sum = { readonly window: number; readonly input: number; readonly output: number }

/**
 * Reads the numbers of the messages that OpenAI, vLLM, SGLang and servers that copy them write. Without limits, a
 * message of many digits would take quadratic time.
 */
function readSum(message: string): Sum | null {
  const window = /maximum context length (?:is|of) (\d{1,15})/i.exec(message)
  const input = INPUT_TOKENS.exec(message)
  const output = OUTPUT_TOKENS.exec(message)
  if (!window || !input || !output) return null
  return { window: Number(window[1]), input: Number(input[1] ?? input[2]), output: Number(output[1] ?? output[2]) }
}

const INPUT_TOKENS =
  /\b(\d{1,15}) (?:in the (?:messages|prompt|input)|tokens from the input)|request has (\d{1,15}) input tokens/i
const OUTPUT_TOKENS =
  /\b(\d{1,15}) (?:in the (?:completion|output)|tokens for the completion)|is too large: (\d{1,15})/i
