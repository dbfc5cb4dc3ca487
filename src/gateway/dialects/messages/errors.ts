import type { Failure } from '../failure.ts'
import type { Json } from '../json/read-json.ts'

/**
 * The `error` member of an error body or event. The words for a prompt that is too long are the vendor's: clients look for them and then
 * shorten the conversation.
 */
export function writeMessagesError({ kind, message }: Failure): Json {
  if (kind === 'context') return { type: 'invalid_request_error', message: `prompt is too long: ${message}` }
  return { type: 'api_error', message }
}
