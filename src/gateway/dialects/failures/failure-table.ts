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

/** The client can correct its request. */
const INVALID: FailureRow = {
  status: 400,
  type: 'invalid_request_error',
  code: null,
  streamCode: 'invalid_prompt',
  messagesType: 'invalid_request_error',
}

/** The client can do nothing but try again. */
const FAILED: FailureRow = {
  status: 502,
  type: 'api_error',
  code: 'upstream_failed',
  streamCode: 'server_error',
  messagesType: 'api_error',
}

/**
 * The statuses and codes of each failure. A refused service account is never 401 or 403, because clients would discard
 * their own token. A prompt that is too long is never 413, because agents then stop instead of compacting. An overload
 * in a stream is `server_error`, because an agent does not retry at the vendor's own code for it.
 */
export const FAILURES: Readonly<Record<FailureKind, FailureRow>> = {
  invalid: INVALID,
  context: { ...INVALID, code: 'context_length_exceeded', streamCode: 'context_length_exceeded' },
  tooLarge: { ...INVALID, status: 413, messagesType: 'request_too_large' },
  filter: { ...INVALID, code: 'invalid_prompt' },
  notFound: { ...INVALID, status: 404, code: 'model_not_found', messagesType: 'not_found_error' },
  rateLimit: {
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    streamCode: 'rate_limit_exceeded',
    messagesType: 'rate_limit_error',
  },
  quota: {
    status: 429,
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    streamCode: 'insufficient_quota',
    messagesStatus: 402,
    messagesType: 'billing_error',
  },
  overloaded: {
    ...FAILED,
    status: 503,
    type: 'server_error',
    code: null,
    messagesStatus: 529,
    messagesType: 'overloaded_error',
  },
  timeout: { ...FAILED, status: 504, code: 'upstream_timeout', messagesType: 'timeout_error' },
  access: {
    status: 401,
    type: 'authentication_error',
    code: 'unauthorized',
    streamCode: 'unauthorized',
    messagesType: 'authentication_error',
  },
  account: { ...FAILED, code: 'upstream_refused_credential' },
  failed: FAILED,
}

/** Returns the message for the client. A backend's message about the service's own account is replaced. */
export function clientMessageOf({ kind, message }: Failure): string {
  if (kind === 'quota') return 'The service’s account at the backend of this model is used up.'
  return message
}
