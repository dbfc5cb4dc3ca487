import type { Request, RequestHandler } from 'express'
import type { Caller } from '../kernel/caller.ts'
import { Secret } from '../kernel/secret.ts'
import { routesOf, signInFirstIn } from './contract.ts'
import type { Contract, Route } from './contract.ts'
import { cookieOf } from './cookies.ts'
import { ApiError } from './errors.ts'
import type { OperationId } from './operation.ts'
import { operationOf } from './request.ts'

/** Who a credential belongs to; null when it is not good. Throws when it cannot tell. */
export type Identify = (credential: Secret) => Promise<Caller | null> | Caller | null

/** Who makes a request, by the credential of one security scheme of the contract; null when it has none that is good. Throws when it cannot tell. */
type Scheme = (req: Request) => Promise<Caller | null> | Caller | null

export type Schemes = Readonly<Record<string, Scheme>>

type Needs = {
  readonly identifyBearer: Identify
  /** Null where cookies are not taken. */
  readonly identifyBrowser: Identify | null
}

/** The security schemes of the contract, as a part takes them. */
export function securitySchemes({ identifyBearer, identifyBrowser }: Needs): Schemes {
  const by =
    (credentialOf: (req: Request) => string | undefined, identify: Identify | null): Scheme =>
    (req) => {
      const credential = credentialOf(req)
      return credential && identify ? identify(new Secret(credential)) : null
    }
  return {
    AccessToken: by(bearerOf, identifyBearer),
    ApiKey: by((req) => req.get('x-api-key'), identifyBearer),
    SessionCookie: by((req) => cookieOf(req, 'svc_session'), identifyBrowser),
    AccessCookie: by((req) => cookieOf(req, 'svc_access'), identifyBrowser && identifyBearer),
  }
}

/** Who may make the requests of an operation: the schemes that it takes, the first one first, and whether it takes anybody. */
export type Access = { readonly schemes: readonly Scheme[]; readonly isOpen: boolean }

/**
 * Who may do what, as the document says (OpenAPI 3.1, section 4.8.30). Throws, so that nothing starts, when an operation says nothing, asks for a
 * scheme that nobody checks, or for two at once.
 */
export function accessOf(contract: Contract, schemes: Schemes): ReadonlyMap<OperationId, Access> {
  return new Map(routesOf(contract).map((route) => [route.id, toAccess(route, schemes)]))
}

function toAccess({ id, operation: { security } }: Route, schemes: Schemes): Access {
  if (!security || security.length === 0) throw new Error(`The contract does not say who may call ${id}.`)
  const alternatives = security.map((alternative) => Object.keys(alternative))
  const together = alternatives.find((names) => names.length > 1)
  if (together) throw new Error(`${id} asks for ${together.join(' and ')} at once, which nobody checks.`)
  return {
    schemes: alternatives.flat().map((name) => {
      const scheme = schemes[name]
      if (!scheme) throw new Error(`${id} asks for ${name}, which nobody checks.`)
      return scheme
    }),
    isOpen: alternatives.some((names) => names.length === 0),
  }
}

/** Finds out who makes a request: the first good credential that its operation takes counts. Refuses a stranger, unless the operation is open. */
export function authenticate(
  contract: Contract,
  access: ReadonlyMap<OperationId, Access>,
  onFailure: (error: unknown) => void,
): RequestHandler {
  const signInFirst = new Set(signInFirstIn(contract))
  return async (req, _res, next) => {
    const { operationId: id } = operationOf(req)
    const { schemes, isOpen } = access.get(id) ?? NOBODY
    const caller = await firstCaller(schemes, req, onFailure)
    if (caller) req.caller = caller
    else if (!isOpen) throw new ApiError(signInFirst.has(id) ? 'authenticate_first' : 'unauthorized')
    next()
  }
}

const NOBODY: Access = { schemes: [], isOpen: false }

/** That nobody can tell who calls is 503, whatever other credentials say, and never 401: clients throw good tokens away on 401. */
async function firstCaller(
  schemes: readonly Scheme[],
  req: Request,
  onFailure: (error: unknown) => void,
): Promise<Caller | null> {
  const failures: unknown[] = []
  for (const scheme of schemes) {
    try {
      const found = scheme(req)
      // Most callers are known already: then nothing is waited for.
      const caller = found instanceof Promise ? await found : found
      if (caller) return caller
    } catch (error) {
      onFailure(error)
      failures.push(error)
    }
  }
  if (failures.length > 0) throw new ApiError('service_unavailable', { cause: failures[0] })
  return null
}

const SCHEME = 'bearer '

/** The token of `Authorization: Bearer` (RFC 6750, section 2.1). */
export function bearerOf(req: Pick<Request, 'headers'>): string | undefined {
  const { authorization = '' } = req.headers
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined
  const token = authorization.slice(SCHEME.length).trim()
  return token === '' || /\s/.test(token) ? undefined : token
}
