import type { Failure, FailureKind } from './failure.ts'

/** How each dialect reports a failure. */
export type FailureRow = {
  /** The status of an error answer. */
  readonly status: number
  /** `type` and `code` of the chat and the responses dialect. */
  readonly type: string
  readonly code: string | null
  /** `code` of a response that failed while it streamed. Agents stop at some codes, and retry at all others. */
  readonly streamCode: string
  /** The status in the messages dialect, where it differs. */
  readonly messagesStatus?: number
  readonly messagesType: string
}

/**
 * The statuses and codes of each failure. A refused service account is never 401 or 403, because clients would discard
 * their own token. A prompt that is too long is never 413, because agents then stop instead of compacting. An overload
 * in a stream is `server_error`, because an agent does not retry at the vendor's own code for it.
 */
export const FAILURES: Readonly<Record<FailureKind, FailureRow>> = {
  invalid: row(400, 'invalid_request_error', null, 'invalid_prompt', 'invalid_request_error'),
  context: row(
    400,
    'invalid_request_error',
    'context_length_exceeded',
    'context_length_exceeded',
    'invalid_request_error',
  ),
  tooLarge: row(413, 'invalid_request_error', null, 'invalid_prompt', 'request_too_large'),
  filter: row(400, 'invalid_request_error', 'invalid_prompt', 'invalid_prompt', 'invalid_request_error'),
  notFound: row(404, 'invalid_request_error', 'model_not_found', 'invalid_prompt', 'not_found_error'),
  rateLimit: row(429, 'rate_limit_error', 'rate_limit_exceeded', 'rate_limit_exceeded', 'rate_limit_error'),
  overloaded: { ...row(503, 'server_error', null, 'server_error', 'overloaded_error'), messagesStatus: 529 },
  timeout: row(504, 'server_error', 'server_error', 'server_error', 'timeout_error'),
  account: row(502, 'api_error', 'upstream_refused_credential', 'server_error', 'api_error'),
  quota: {
    ...row(429, 'insufficient_quota', 'insufficient_quota', 'insufficient_quota', 'billing_error'),
    messagesStatus: 402,
  },
  failed: row(502, 'api_error', 'upstream_failed', 'server_error', 'api_error'),
}

function row(status: number, type: string, code: string | null, streamCode: string, messagesType: string): FailureRow {
  return { status, type, code, streamCode, messagesType }
}

/** Returns the message for the client. A backend's message about the service's own account is replaced. */
export function clientMessageOf({ kind, message }: Failure): string {
  if (kind === 'quota') return 'The service’s account at the backend of this model is used up.'
  return message
}
