import type { Failure, FailureKind } from './failure.ts'

/** How each dialect tells of a failure. */
export type FailureRow = {
  /** Of an error answer. */
  readonly status: number
  /** `type` and `code` of the chat and the responses dialect. */
  readonly type: string
  readonly code: string | null
  /**
   * `code` of a response that failed while it streamed: some codes stop an agent at once, any other makes it ask again.
   */
  readonly streamCode: string
  /** Of the messages dialect, where its status differs. */
  readonly messagesStatus?: number
  readonly messagesType: string
}

/**
 * What the service's account did wrong is never 401 or 403: clients would throw their own token away. A prompt that is
 * too long is never 413, at which agents give up without compacting. An overload in a stream is `server_error`, because
 * an agent stops after one try at the vendor's own code for it.
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

/** The words for the client. What a backend says of the service's own account is not for its callers. */
export function wordsOf({ kind, message }: Failure): string {
  if (kind === 'quota') return 'The service’s account at the backend of this model is used up.'
  return message
}
