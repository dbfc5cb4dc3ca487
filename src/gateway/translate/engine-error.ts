import type { Style } from '../upstream/stream-watch.ts'
import type { EngineError } from './chat.ts'
import type { Json } from './read.ts'

/**
 * An engine's own error as a caller of this style reads it, with the engine's status and words. A prompt that is too long is told
 * in the words and the status by which clients know to shorten the conversation. What the model cannot read is the caller's to leave out,
 * also where an engine gives it a status at which clients ask again.
 */
export function toErrorAnswer(style: Style, status: number, error: EngineError): { status: number; body: Json } {
  const isCallers = error.contextExceeded || UNREADABLE.test(error.message)
  const shown = isCallers && status >= 500 ? 400 : status
  return { status: shown, body: style === 'messages' ? toMessagesError(shown, error) : toResponsesError(shown, error) }
}

/** In the words of llama.cpp, which has it as a failure of the server. */
const UNREADABLE = /\b(image|audio|video) input is not supported\b/i

function toMessagesError(status: number, { message, contextExceeded }: EngineError): Json {
  const words = contextExceeded ? `prompt is too long: ${message}` : message
  return { type: 'error', error: { type: typeOf(status), message: words } }
}

function toResponsesError(status: number, { message, contextExceeded }: EngineError): Json {
  const code = contextExceeded ? 'context_length_exceeded' : null
  return { error: { message, type: typeOf(status), param: null, code } }
}

/** The vendors' word for a status (Anthropic API, "Errors"). */
function typeOf(status: number): string {
  return TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')
}

const TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [529, 'overloaded_error'],
])
