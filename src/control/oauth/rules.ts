/**
 * The device logins and tokens of this service as the standards have them (RFC 6749, RFC 8414, RFC 8628), for clients that speak those by
 * themselves. There is one grant behind both faces; only names and errors differ.
 */
import type { ErrorCode } from '../../http/errors.ts'

/** RFC 8628, section 3.4. */
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** RFC 6749, section 6. */
export const REFRESH_GRANT = 'refresh_token'

/** What this service refuses, in the words of RFC 6749, section 5.2, and RFC 8628, section 3.5. */
export type OAuthProblem = { readonly status: number; readonly error: string }

/** The refusal of a request to the token endpoint with this grant type, or to another endpoint (no grant type). */
export function toOAuthProblem(code: ErrorCode, status: number, grantType: string | undefined): OAuthProblem {
  if (code === 'invalid_request' && grantType !== undefined && !isKnownGrant(grantType))
    return { status: 400, error: 'unsupported_grant_type' }
  if (grantType === REFRESH_GRANT && (code === 'unauthorized' || code === 'expired'))
    // 401 where RFC 6749 has 400: a client of a fleet signs its person out by it.
    return { status: 401, error: 'invalid_grant' }
  if (grantType === DEVICE_GRANT && code === 'rate_limited') return { status: 400, error: 'slow_down' }
  return PROBLEMS[code] ?? byStatus(status)
}

function isKnownGrant(grantType: string): boolean {
  return grantType === DEVICE_GRANT || grantType === REFRESH_GRANT
}

const PROBLEMS: Partial<Record<ErrorCode, OAuthProblem>> = {
  authorization_pending: { status: 400, error: 'authorization_pending' },
  access_denied: { status: 400, error: 'access_denied' },
  not_invited: { status: 400, error: 'access_denied' },
  expired: { status: 400, error: 'expired_token' },
  unauthorized: { status: 400, error: 'invalid_grant' },
  forbidden: { status: 403, error: 'access_denied' },
  rate_limited: { status: 429, error: 'temporarily_unavailable' },
}

function byStatus(status: number): OAuthProblem {
  if (status === 503) return { status, error: 'temporarily_unavailable' }
  return status >= 500 ? { status, error: 'server_error' } : { status, error: 'invalid_request' }
}
