/**
 * Device logins and tokens in the form of the OAuth standards (RFC 6749, RFC 8414, RFC 8628), for clients that
 * implement those. The states are those of `device-login/rules.ts` and `tokens/rules.ts`; only the names of fields and
 * errors differ.
 */
import { ApiError } from '../../http/errors.ts'
import type { ErrorCode } from '../../http/errors.ts'

/** RFC 8628, section 3.4. */
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** RFC 6749, section 6. */
export const REFRESH_GRANT = 'refresh_token'

/** An error of RFC 6749, section 5.2, or RFC 8628, section 3.5. */
export type OAuthProblem = { readonly status: number; readonly error: string }

/**
 * Reads the `client_id` of a form; null when it is missing or empty. RFC 6749, appendix A.1, allows printable ASCII
 * only; other printable characters are accepted too, because people see the name. Throws `invalid_request`.
 */
export function readClientId(given: string | undefined): string | null {
  if (given && /\p{Cc}/u.test(given))
    throw new ApiError('invalid_request', {
      message: 'client_id has control characters. Send a name of printable characters.',
    })
  return given || null
}

/** Converts an error of this service. `grantType` is undefined for requests that are not to the token endpoint. */
export function toOAuthProblem(code: ErrorCode, status: number, grantType: string | undefined): OAuthProblem {
  if (code === 'invalid_request' && grantType !== undefined && !isKnownGrant(grantType))
    return { status: 400, error: 'unsupported_grant_type' }
  if (grantType === REFRESH_GRANT && (code === 'unauthorized' || code === 'expired'))
    // RFC 6749 has 400 here. One vendor's client signs its user out only after a 401.
    return { status: 401, error: 'invalid_grant' }
  if (grantType === DEVICE_GRANT && code === 'rate_limited') return { status: 400, error: 'slow_down' }
  return PROBLEMS[code] ?? byStatus(status)
}

/**
 * The metadata of this authorization server (RFC 8414, section 2). `baseUrl` is the issuer. The endpoints are at
 * `address`, because Claude Code takes only those at the origin of its base URL, which may be the gateway's.
 */
export function toMetadata(baseUrl: string, address: string) {
  return {
    issuer: baseUrl,
    device_authorization_endpoint: `${address}/oauth/device_authorization`,
    token_endpoint: `${address}/oauth/token`,
    revocation_endpoint: `${address}/oauth/revoke`,
    jwks_uri: `${baseUrl}/.well-known/jwks.json`,
    response_types_supported: [],
    grant_types_supported: [DEVICE_GRANT, REFRESH_GRANT],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
  }
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
