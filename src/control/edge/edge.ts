import type { RequestHandler } from 'express'
import { smallBody } from '../../http/body.ts'
import { CONTROL_PLANE_CORS, cors } from '../../http/cors.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { sameOrigin } from '../../http/same-origin.ts'
import type { UnknownCredentials } from './unknown-credentials.ts'

/** The largest body of most operations. */
const MAX_BODY_BYTES = 16 * 1024

/** A browser's passkey and a directory are larger. */
const LARGER_BODIES = {
  paths: [
    '/v1/auth/passkeys/register/finish',
    '/v1/auth/passkeys/login/finish',
    '/v1/directory/plan',
    '/v1/directory/apply',
  ],
  limitBytes: 64 * 1024,
}

type Needs = {
  /** The control plane's public address. */
  readonly baseUrl: string
  readonly allowedOrigins: readonly string[]
  readonly unknownCredentials: UnknownCredentials
  /** Requests of one account. */
  readonly accounts: RateLimit
}

/**
 * What runs before the handlers of the control plane: CORS, the limits of unknown credentials and of accounts, the
 * same-origin check, and the parser of bodies.
 */
export function makeControlEdge({ baseUrl, allowedOrigins, unknownCredentials, accounts }: Needs) {
  return {
    parseBody: smallBody(MAX_BODY_BYTES, LARGER_BODIES),
    limit: unknownCredentials.refuseCookie,
    limitCaller: limitAccounts(accounts),
    before: [
      // First, so that pages of allowed origins can read every refusal.
      ...cors(allowedOrigins, CONTROL_PLANE_CORS),
      unknownCredentials.refuseOpen,
      sameOrigin([new URL(baseUrl).origin, ...allowedOrigins]),
    ],
  }
}

/** Counts a request of an identified caller; throws `rate_limited` when its account has made too many. */
function limitAccounts(accounts: RateLimit): RequestHandler {
  return async ({ caller }, _res, next) => {
    if (caller) await accounts.take(caller.accountId)
    next()
  }
}
