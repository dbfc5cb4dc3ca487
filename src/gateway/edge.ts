import type { Request } from 'express'
import type { Config } from '../config/values.ts'
import type { RoleRoutes } from '../http/role.ts'
import { bearerOf, callerOfToken, xApiKeyOf } from '../http/authenticate.ts'
import type { Schemes } from '../http/authenticate.ts'
import { defaultBodyBudget, openBodyBudget } from '../http/body-budget.ts'
import type { BodyBudget } from '../http/body-budget.ts'
import { callBody } from '../http/call-body.ts'
import { contractOf } from '../http/contract.ts'
import type { Contract } from '../http/contract.ts'
import { cors, GATEWAY_CORS } from '../http/cors.ts'
import type { OpenRateLimit } from '../http/rate-limit.ts'
import { ipOf } from '../http/request.ts'
import type { ExplainToken, Identify, IdentifyKey } from '../kernel/caller.ts'
import { looksLikeApiKey } from '../kernel/credentials/api-key.ts'
import { Secret } from '../kernel/secret.ts'
import { CALL_OPERATION_IDS } from './calls/operations.ts'
import { releaseBody, setBody } from './calls/request/request.ts'
import { limitAddresses, limitCallers, toAddressRate } from './limits/requests.ts'

export type EdgeNeeds = {
  readonly settings: Pick<Config, 'callLimits' | 'maxBodyBytes' | 'allowedOrigins'> & BudgetSettings
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
    schemes: makeSchemes({ identify, identifyKey }),
    explainToken,
    parseBody: callBody({ limitBytes: settings.maxBodyBytes, budget: openCallBudget(settings), setBody, releaseBody }),
    nameAllMistakes: false,
    firstOperations: CALL_OPERATION_IDS,
    before: cors(settings.allowedOrigins, GATEWAY_CORS),
  }
}

type BudgetSettings = Pick<Config, 'maxBodiesBytes' | 'processes'>

/** Opens the budget for all bodies of requests, or for all answers. */
export function openCallBudget({ maxBodiesBytes, processes }: BudgetSettings): BodyBudget {
  return openBodyBudget(maxBodiesBytes ?? defaultBodyBudget(processes))
}

/** Access tokens and API keys. Clients of the messages dialect send either of them as `x-api-key`. */
function makeSchemes({ identify, identifyKey }: Pick<EdgeNeeds, 'identify' | 'identifyKey'>): Schemes {
  const callerOfKey = (req: Request, key: string | undefined) =>
    key && looksLikeApiKey(key) ? identifyKey(new Secret(key), ipOf(req)) : null
  return {
    AccessToken: (req) => callerOfToken(bearerOf(req), identify),
    BearerKey: (req) => callerOfKey(req, bearerOf(req)),
    ApiKey: (req) => callerOfKey(req, xApiKeyOf(req)) ?? callerOfToken(xApiKeyOf(req), identify),
  }
}
