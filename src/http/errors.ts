import type { OperationId, Responses } from './operation.ts'

type Json<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never
/** The code of an error of the service. Those of backends have any code. */
type CodeIn<Body> = Body extends { error: { code: infer Code extends string } } ? Code : never
type CodesOf<Id extends OperationId> = {
  [S in keyof Responses<Id>]: CodeIn<Json<Responses<Id>[S]>>
}[keyof Responses<Id>]

/** Every error code of the contract, and the codes of errors that belong to no operation. */
export type ErrorCode =
  | { [Id in OperationId]: CodesOf<Id> }[OperationId]
  | 'method_not_allowed'
  | 'not_found'
  | 'upgrade_required'
  | 'internal'

/** The vendors' types of errors, which their clients read (Anthropic and OpenAI error objects). */
type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'billing_error'
  | 'usage_limit_reached'
  | 'api_error'
  | 'not_supported'

type Row = {
  readonly status: number
  readonly type: ErrorType
  readonly message: string
  /** Repeating the request cannot help; clients are told by `x-should-retry: false`. */
  readonly permanent?: true
  /** The body also has the code as `details.error_code`, where the SDKs of vendor B read it. */
  readonly isDetail?: true
  /** A header that also has the message, for a client that does not show the one of the body. */
  readonly messageHeader?: string
}

/** The status and default message of each code. A new code of the contract does not compile until it has a row here. */
export const ERRORS: Readonly<Record<ErrorCode, Row>> = {
  invalid_request: { status: 400, type: 'invalid_request_error', message: 'The request is not valid.' },
  previous_response_not_found: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This service does not store responses: send the whole conversation.',
  },
  unauthorized: {
    status: 401,
    type: 'authentication_error',
    message: 'The credential is missing or not valid. Send an access token as Authorization: Bearer (svc login).',
    permanent: true,
  },
  authenticate_first: { status: 401, type: 'authentication_error', message: 'Sign in first.', permanent: true },
  spending_limit_reached: {
    status: 402,
    type: 'billing_error',
    message: 'A spending limit of your team is used up. GET /v1/limits shows your limits.',
    permanent: true,
  },
  access_denied: { status: 403, type: 'permission_error', message: 'The login was denied.', permanent: true },
  forbidden: { status: 403, type: 'permission_error', message: 'You are not allowed to do this.', permanent: true },
  reauthenticate: {
    status: 403,
    type: 'permission_error',
    message:
      'This needs a sign-in that is at most 15 minutes old. Sign in again (svc login, or in a browser the page in ' +
      'auth.page), then repeat the request.',
    permanent: true,
  },
  not_invited: {
    status: 403,
    type: 'permission_error',
    message: 'This address has no active invitation. Ask an admin of your team to invite it.',
    permanent: true,
  },
  model_not_allowed: {
    status: 403,
    type: 'permission_error',
    message: 'You may not call this model. GET /v1/models lists the models that you may call.',
    permanent: true,
  },
  thread_not_found: {
    status: 404,
    type: 'not_found_error',
    message: 'This service does not store threads: send the whole conversation.',
    isDetail: true,
  },
  not_found: { status: 404, type: 'not_found_error', message: 'No such route or resource.' },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'This route does not support this method.',
  },
  conflict: { status: 409, type: 'invalid_request_error', message: 'Another decision was made before this one.' },
  expired: { status: 410, type: 'invalid_request_error', message: 'This has expired. Start again.' },
  payload_too_large: { status: 413, type: 'invalid_request_error', message: 'The body is too large for this route.' },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    message: 'This route does not read a body of this type.',
  },
  upgrade_required: {
    status: 426,
    type: 'invalid_request_error',
    message: 'WebSockets are not supported. Send a plain HTTP request.',
  },
  authorization_pending: { status: 428, type: 'invalid_request_error', message: 'The login is not approved yet.' },
  rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests. Wait for the seconds in Retry-After.',
  },
  usage_limit_reached: {
    status: 429,
    // Codex repeats every other error, and shows the text of this header.
    type: 'usage_limit_reached',
    message: 'A spending limit of your team is used up. GET /v1/limits shows your limits.',
    permanent: true,
    messageHeader: 'x-codex-promo-message',
  },
  internal: {
    status: 500,
    type: 'api_error',
    message: 'The service failed. Its log explains the failure under this request id.',
  },
  not_supported: {
    status: 501,
    type: 'not_supported',
    message: 'The local worker that serves this model does not support this operation.',
    permanent: true,
  },
  upstream_failed: {
    status: 502,
    type: 'api_error',
    message: 'The upstream could not be reached, or it closed the connection.',
  },
  upstream_refused_credential: {
    status: 502,
    type: 'api_error',
    message: 'The upstream refused the credential of this service. Your own credential is good. Tell the operator.',
    permanent: true,
  },
  email_unavailable: {
    status: 503,
    type: 'api_error',
    message: 'The email could not be sent, so nothing was started. Try again later.',
  },
  model_unavailable: {
    status: 503,
    // Claude Code repeats an `overloaded_error` for minutes, whatever `x-should-retry` says.
    type: 'api_error',
    message: 'You may call this model, but no backend serves it now.',
    permanent: true,
  },
  service_unavailable: {
    status: 503,
    type: 'api_error',
    message: 'The service cannot read or save its data now. Try again shortly.',
  },
  upstream_timeout: { status: 504, type: 'api_error', message: 'The upstream did not answer in time.' },
}

/** The seconds that a client is told to wait: whole ones (RFC 9110, section 10.2.3), and at least one. */
export function toWholeSeconds(seconds: number): number {
  return Math.max(1, Math.ceil(seconds))
}

/** A refusal. Handlers throw it, and the error handler writes it. */
export class ApiError extends Error {
  readonly code: ErrorCode
  /** For the `Retry-After` header: whole seconds, at least one. */
  readonly retryAfterSeconds: number | undefined
  /** When what is used up is available again, for `resets_at` of the body. */
  readonly resetsAt: Date | undefined
  /** Methods for the `Allow` header. */
  readonly allow: string | undefined
  /** A token was sent, and the message says what is wrong with it. */
  readonly isInvalidToken: boolean
  /** The same request works with a fresh access token, so clients that can get one should repeat it. */
  readonly isSolvedByRefresh: boolean

  constructor(
    code: ErrorCode,
    options: {
      message?: string
      retryAfterSeconds?: number
      resetsAt?: Date
      allow?: string
      isInvalidToken?: boolean
      isSolvedByRefresh?: boolean
      cause?: unknown
    } = {},
  ) {
    super(options.message ?? ERRORS[code].message, { cause: options.cause })
    this.name = 'ApiError'
    this.code = code
    this.retryAfterSeconds =
      options.retryAfterSeconds === undefined ? undefined : toWholeSeconds(options.retryAfterSeconds)
    this.resetsAt = options.resetsAt
    this.allow = options.allow
    this.isInvalidToken = options.isInvalidToken ?? false
    this.isSolvedByRefresh = options.isSolvedByRefresh ?? false
  }
}
