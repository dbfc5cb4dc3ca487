import type { ErrorCode } from './contract-types.ts'

/** What an error carries besides its message. */
export type SvcErrorFields = {
  /** The contract's code; another text where an upstream or a proxy answered in its own words. */
  readonly code: ErrorCode | (string & {})
  /** The HTTP status; 0 where there is none, as inside a stream. */
  readonly status: number
  /** Names the request in the service's log; give it when you ask for help. */
  readonly requestId: string | null
  /** How long to wait before the same request can work; null when the answer does not say. */
  readonly retryAfterSeconds: number | null
  /** The body of the answer, parsed where it was JSON. */
  readonly body: unknown
}

/** An answer that is not the wanted one. Decide by `code`; the message is for people. */
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

/** 401: nobody is signed in, or no longer. Log in again. */
export class NotSignedInError extends SvcError {
  override readonly name = 'NotSignedInError'
}

/** 403: the person, the team or the page that asks may not do this. */
export class NotAllowedError extends SvcError {
  override readonly name = 'NotAllowedError'
}

/** 410: it was valid, and its time is over. */
export class ExpiredError extends SvcError {
  override readonly name = 'ExpiredError'
}

/** 429: too many requests; `retryAfterSeconds` says how long to wait. */
export class RateLimitedError extends SvcError {
  override readonly name = 'RateLimitedError'
}

/** 500 and above: the service or an upstream cannot do it now. */
export class UnavailableError extends SvcError {
  override readonly name = 'UnavailableError'
}

/** A stream that began and did not end well: it carried an error, or it broke off. */
export class StreamError extends SvcError {
  override readonly name = 'StreamError'
}

/** The error of an answer whose body has been read. */
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

/** The id under which the service's log knows an answer. */
export function requestIdOf(response: Response): string | null {
  return response.headers.get('x-request-id')
}

/** `Retry-After` in seconds (RFC 9110, section 10.2.3); null without one or when it is a date. */
export function retryAfterOf(response: Response): number | null {
  const seconds = response.headers.get('retry-after')
  return seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) : null
}

/** Code and message as far as there are any: vendors name the code `type`. */
export function envelopeOf(body: unknown): { readonly code?: string; readonly message?: string } {
  if (typeof body !== 'object' || body === null || !('error' in body)) return {}
  // Whatever an upstream sent; each field is looked at before it is used.
  const { code, type, message } = (body.error ?? {}) as { code?: unknown; type?: unknown; message?: unknown }
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
