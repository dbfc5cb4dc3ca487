import type { Config } from '../config/values.ts'
import type { RoleRoutes } from '../http/role.ts'
import { makeSecuritySchemes } from '../http/authenticate.ts'
import { callBody } from '../http/body.ts'
import { contractOf } from '../http/contract.ts'
import type { Contract } from '../http/contract.ts'
import { cors, GATEWAY_CORS } from '../http/cors.ts'
import type { OpenRateLimit } from '../http/rate-limit.ts'
import type { ExplainToken, Identify, IdentifyKey } from '../kernel/caller.ts'
import { CALL_OPERATION_IDS } from './calls/operations.ts'
import { setBody } from './calls/request/request.ts'
import { limitAddresses, limitCallers, toAddressRate } from './limits/requests.ts'

export type EdgeNeeds = {
  readonly settings: Pick<Config, 'callLimits' | 'maxBodyBytes' | 'allowedOrigins'>
  /** The published document. */
  readonly contract: Contract
  readonly identify: Identify
  readonly identifyKey: IdentifyKey
  readonly explainToken: ExplainToken
  readonly openRateLimit: OpenRateLimit
}

/**
 * How requests reach the gateway's handlers: which operations there are, who may call, how often, and with which
 * bodies.
 */
export function makeEdge({
  settings,
  contract,
  identify,
  identifyKey,
  explainToken,
  openRateLimit,
}: EdgeNeeds): Omit<RoleRoutes, 'handlers'> {
  const own = contractOf(contract, 'gateway')
  const { requestsPerMinute, accountRequestsPerMinute } = settings.callLimits
  const addresses = openRateLimit('calls', toAddressRate(settings.callLimits))
  const callers = openRateLimit('calls-of-caller', { points: accountRequestsPerMinute, seconds: 60 })
  return {
    contract: own,
    ...(requestsPerMinute > 0 && { limit: limitAddresses(addresses) }),
    ...(accountRequestsPerMinute > 0 && { limitCaller: limitCallers(callers, addresses) }),
    schemes: makeSecuritySchemes({ identifyBearer: identify, identifyBrowser: null, identifyKey }),
    explainToken,
    parseBody: callBody(settings.maxBodyBytes, setBody),
    nameAllMistakes: false,
    firstOperations: CALL_OPERATION_IDS,
    before: cors(own, settings.allowedOrigins, GATEWAY_CORS),
  }
}
