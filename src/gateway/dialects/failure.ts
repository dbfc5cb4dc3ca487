import { isObject, readName, readObject, readText } from './json/read-json.ts'

/**
 * What went wrong, by what a client can do about it. `context`: the prompt is too long, which clients cure by compacting it; `invalid`:
 * the request is at fault; `failed`: the backend is.
 */
export type FailureKind = 'invalid' | 'context' | 'failed'

export type Failure = { readonly kind: FailureKind; readonly message: string }

/** A failure of the backend, told by this gateway. */
export function backendFailed(message: string): Failure {
  return { kind: 'failed', message }
}

/** The failure that the body of an error answer or an error event tells of, in any of the shapes in use. */
export function readFailure(value: unknown): Failure {
  const body = readObject(value)
  const error = isObject(body.error) ? body.error : body
  const message =
    readName(error.message) ??
    readName(body.error) ??
    readName(value) ??
    readName(error.detail) ??
    'The engine failed without saying why.'
  const words = `${readText(error.code)} ${readText(error.type)} ${message}`
  if (CONTEXT_EXCEEDED.test(words)) return { kind: 'context', message }
  return { kind: UNREADABLE.test(message) ? 'invalid' : 'failed', message }
}

const CONTEXT_EXCEEDED =
  /context_length_exceeded|exceed_context_size|maximum context length|exceeds? the (available )?context|context size has been exceeded|prompt is too long/i

/** The words of llama.cpp, which reports it as a failure of the server. */
const UNREADABLE = /\b(image|audio|video) input is not supported\b/i

/** The status that a client gets: what its request is at fault for is 400, also where an engine answers as if it had failed itself. */
export function statusOf(status: number, { kind }: Failure): number {
  return kind !== 'failed' && status >= 500 ? 400 : status
}

/** The vendors' word for a status (Anthropic API, "Errors"). */
export function typeOfStatus(status: number): string {
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
