import { smallBody } from '../http/body.ts'
import type { Contract } from '../http/contract.ts'
import { CONTROL_ACCESS, cors } from '../http/cors.ts'
import { sameOrigin } from '../http/same-origin.ts'
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
  readonly contract: Contract
  /** The control plane's public address. */
  readonly baseUrl: string
  readonly allowedOrigins: readonly string[]
  readonly unknownCredentials: UnknownCredentials
}

/**
 * What runs before the handlers of the control plane: the limit of unknown credentials, CORS, the same-origin check,
 * and the parser of bodies.
 */
export function makeControlEdge({ contract, baseUrl, allowedOrigins, unknownCredentials }: Needs) {
  return {
    parseBody: smallBody(MAX_BODY_BYTES, LARGER_BODIES),
    limit: unknownCredentials.refuseCookie,
    before: [
      // First, because it must cost as little as possible.
      unknownCredentials.refuseOpen,
      // Before the same-origin check, so that browsers of allowed origins can read its refusals.
      ...cors(contract, allowedOrigins, CONTROL_ACCESS),
      sameOrigin([new URL(baseUrl).origin, ...allowedOrigins]),
    ],
  }
}
