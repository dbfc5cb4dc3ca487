import type { ErrorCode } from './contract-types.ts'

/** The fields of an `SvcError` besides its message. */
export type SvcErrorFields = {
  /** The error code of the contract. It can be another text when an upstream or a proxy wrote the answer. */
  readonly code: ErrorCode | (string & {})
  /** The HTTP status. 0 for an error inside a stream. */
  readonly status: number
  /** The id of the request in the service's log. Quote it when you report a problem. */
  readonly requestId: string | null
  /** How long to wait before the same request can succeed. Null when the answer does not say. */
  readonly retryAfterSeconds: number | null
  /** The body of the answer, parsed when it was JSON. */
  readonly body: unknown
}

/** An error answer. Decide by `code`; the message is for people. */
export class SvcError extends Error implements SvcErrorFields {
  override readonly name: string = 'SvcError'
  readonly code: SvcErrorFields['code']
  readonly status: number
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null
  readonly body: unknown

  constructor(message: string, { code, status, requestId, retryAfterSeconds, body }: SvcErrorFields) {
    super(message)
    this.code = code
    this.status = status
    this.requestId = requestId
    this.retryAfterSeconds = retryAfterSeconds
    this.body = body
  }
}

/** 401: the device is not signed in, or not any more. Log in again. */
export class NotSignedInError extends SvcError {
  override readonly name = 'NotSignedInError'
}

/** 403: the account, the team or the calling site is not allowed to do this. */
export class NotAllowedError extends SvcError {
  override readonly name = 'NotAllowedError'
}

/** 410: the login or the token was valid and has expired. */
export class ExpiredError extends SvcError {
  override readonly name = 'ExpiredError'
}

/** 429: too many requests. `retryAfterSeconds` says how long to wait. */
export class RateLimitedError extends SvcError {
  override readonly name = 'RateLimitedError'
}

/** 500 and above: the service or an upstream cannot serve the request now. */
export class UnavailableError extends SvcError {
  override readonly name = 'UnavailableError'
}

/** A stream that started and then failed: it carried an error, or it was cut off. */
export class StreamError extends SvcError {
  override readonly name = 'StreamError'
}

/** Converts an error answer, whose body has been read, to an `SvcError`. */
export function errorOf(response: Response, body: unknown): SvcError {
  const { code, message } = envelopeOf(body)
  const Kind = kindOf(response.status)
  return new Kind(message ?? `The service answered ${response.status}.`, {
    code: code ?? `http_${response.status}`,
    status: response.status,
    requestId: requestIdOf(response),
    retryAfterSeconds: retryAfterOf(response),
    body,
  })
}

/** The error for an answer of success that the service did not write, such as the sign-in page of a network. */
export function unexpectedAnswer(response: Response, what: string, body: unknown): SvcError {
  return new SvcError(`${what} Check the URL of the service and your proxy.`, {
    code: 'unexpected_answer',
    status: response.status,
    requestId: requestIdOf(response),
    retryAfterSeconds: null,
    body,
  })
}

/** The error for a stream that has begun and then failed. */
export function streamError(response: Response | undefined, code: string, message: string, body: unknown): StreamError {
  const requestId = response ? requestIdOf(response) : null
  return new StreamError(message, { code, status: 0, requestId, retryAfterSeconds: null, body })
}

/** The id of an answer's request in the service's log. `x-request-id` can be that of a vendor. */
function requestIdOf({ headers }: Response): string | null {
  return headers.get('x-svc-request-id') ?? headers.get('x-request-id')
}

/** `Retry-After` in seconds (RFC 9110, section 10.2.3). Null when it is missing or a date. */
export function retryAfterOf(response: Response): number | null {
  const seconds = response.headers.get('retry-after')
  return seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) : null
}

/**
 * Reads the code and the message of an error body. Some vendors have a `type` and no `code`, or a text in place of the
 * object.
 */
export function envelopeOf(body: unknown): { readonly code?: string; readonly message?: string } {
  if (typeof body !== 'object' || body === null || !('error' in body)) return {}
  const { error } = body
  // RFC 6749, section 5.2, as the OAuth operations answer.
  if ('error_description' in body) return { code: String(error), message: String(body.error_description) }
  if (typeof error === 'string') return { message: error }
  // The body comes from an upstream, so the type of each field is checked.
  const { code, type, message } = (error ?? {}) as { code?: unknown; type?: unknown; message?: unknown }
  const word = [code, type].find((value) => typeof value === 'string')
  return {
    ...(typeof word === 'string' && { code: word }),
    ...(typeof message === 'string' && { message }),
  }
}

function kindOf(status: number): typeof SvcError {
  if (status === 401) return NotSignedInError
  if (status === 403) return NotAllowedError
  if (status === 410) return ExpiredError
  if (status === 429) return RateLimitedError
  return status >= 500 ? UnavailableError : SvcError
}
