import type { Failure } from '../failure.ts'
import type { Json } from '../json/read-json.ts'

/** The `error` member of a failed response. Agents compact the conversation when they read `context_length_exceeded`. */
export function writeResponsesError({ kind, message }: Failure): Json {
  return { code: kind === 'context' ? 'context_length_exceeded' : 'server_error', message }
}
