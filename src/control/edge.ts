import type { RequestHandler } from 'express'
import { withPatience } from '../database/time-budget.ts'
import { smallBody } from '../http/body.ts'
import type { Contract } from '../http/contract.ts'
import { CONTROL_ACCESS, cors } from '../http/cors.ts'
import { sameOrigin } from '../http/same-origin.ts'

/** The largest body of most operations. */
const MAX_BODY_BYTES = 16 * 1024

/** A browser's passkey is larger. */
const WEBAUTHN_BODIES = {
  paths: ['/v1/auth/passkeys/register/finish', '/v1/auth/passkeys/login/finish'],
  limitBytes: 64 * 1024,
}

/**
 * The time budget of one request for waiting on the database. A request that exceeds it is answered 503, so that the
 * answer comes within three seconds. All waits of a request count together, whether they succeed or not: a slow queue
 * cannot be told from a stuck one, and a request that has waited long for one connection must not wait as long again
 * for the next.
 */
const DATABASE_BUDGET_MS = 2500

type Needs = {
  readonly contract: Contract
  /** The control plane's public address. */
  readonly baseUrl: string
  readonly allowedOrigins: readonly string[]
}

/**
 * What runs before the handlers of the control plane: the time budget, CORS, the same-origin check, and the parser of
 * bodies.
 */
export function makeControlEdge({ contract, baseUrl, allowedOrigins }: Needs) {
  const withTimeBudget: RequestHandler = (_req, _res, next) => withPatience(DATABASE_BUDGET_MS, next)
  return {
    parseBody: smallBody(MAX_BODY_BYTES, WEBAUTHN_BODIES),
    before: [
      // First, because identifying the caller asks the database too.
      withTimeBudget,
      // Before the same-origin check, so that browsers of allowed origins can read its refusals.
      ...cors(contract, allowedOrigins, CONTROL_ACCESS),
      sameOrigin([new URL(baseUrl).origin, ...allowedOrigins]),
    ],
  }
}
