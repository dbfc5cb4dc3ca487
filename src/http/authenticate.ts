import type { Request, RequestHandler } from 'express'
import type { Caller, ExplainToken, TokenProblem } from '../kernel/caller.ts'
import { Secret } from '../kernel/secret.ts'
import { routesOf, signInFirstIn } from './contract.ts'
import type { Contract, Route } from './contract.ts'
import { cookieOf } from './cookies.ts'
import { ApiError } from './errors.ts'
import type { OperationId } from './operation.ts'
import { operationOf } from './request.ts'

/**
 * Finds the caller of a credential; null when it is not valid. Throws when it cannot be checked, for example without a
 * database.
 */
export type Identify = (credential: Secret) => Promise<Caller | null> | Caller | null

/**
 * Finds the caller of a request by one security scheme of the contract; null when the request has no valid credential
 * of it.
 */
type Scheme = (req: Request) => Promise<Caller | null> | Caller | null

export type Schemes = Readonly<Record<string, Scheme>>

type Needs = {
  readonly identifyBearer: Identify
  /** Null where cookies are not accepted. */
  readonly identifyBrowser: Identify | null
}

/** The security schemes of the contract, with the checks of one role. */
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

/**
 * Who may call an operation: the accepted schemes, in order, and whether it is open to callers without a credential.
 */
export type Access = { readonly schemes: readonly Scheme[]; readonly isOpen: boolean }

/**
 * Reads who may call which operation from the document (OpenAPI 3.1, section 4.8.30). Throws at start when an operation
 * has no `security`, names an unknown scheme, or asks for two schemes at once.
 */
export function accessOf(contract: Contract, schemes: Schemes): ReadonlyMap<OperationId, Access> {
  return new Map(routesOf(contract).map((route) => [route.id, toAccess(route, schemes)]))
}

function toAccess({ id, operation: { security } }: Route, schemes: Schemes): Access {
  if (!security || security.length === 0)
    throw new Error(`The contract has no "security" for ${id}. Add one; {} makes the operation open.`)
  const alternatives = security.map((alternative) => Object.keys(alternative))
  const together = alternatives.find((names) => names.length > 1)
  if (together) throw new Error(`${id} asks for ${together.join(' and ')} at once, which is not supported.`)
  return {
    schemes: alternatives.flat().map((name) => {
      const scheme = schemes[name]
      if (!scheme) throw new Error(`${id} asks for the security scheme ${name}, which is not implemented.`)
      return scheme
    }),
    isOpen: alternatives.some((names) => names.length === 0),
  }
}

/** Called with each caller that was identified. It must return at once. */
export type OnCaller = (caller: Caller, req: Request) => void

/** What is called besides. */
export type AuthenticationHooks = {
  readonly explainToken: ExplainToken
  /** Called with the error when a credential could not be checked. */
  readonly onFailure: (error: unknown) => void
  readonly onCaller?: OnCaller | undefined
}

/**
 * Sets `req.caller` by the first valid credential that the operation accepts. Refuses when there is none, unless the
 * operation is open.
 */
export function authenticate(
  contract: Contract,
  access: ReadonlyMap<OperationId, Access>,
  { explainToken, onFailure, onCaller }: AuthenticationHooks,
): RequestHandler {
  const signInFirst = new Set(signInFirstIn(contract))
  return async (req, _res, next) => {
    const { operationId: id } = operationOf(req)
    const { schemes, isOpen } = access.get(id) ?? NO_ACCESS
    const caller = await firstCaller(schemes, req, onFailure)
    if (caller) {
      req.caller = caller
      onCaller?.(caller, req)
    } else if (!isOpen)
      throw await refuse(signInFirst.has(id) ? 'authenticate_first' : 'unauthorized', req, explainToken)
    next()
  }
}

/** The refusal of a request without a good credential: it says what is wrong with the token that was sent. */
async function refuse(code: 'authenticate_first' | 'unauthorized', req: Request, explainToken: ExplainToken) {
  const token = bearerOf(req) ?? req.get('x-api-key')
  if (!token) return new ApiError(code)
  return new ApiError(code, { message: TOKEN_PROBLEMS[await explainToken(new Secret(token))], isInvalidToken: true })
}

/** Without quotes and backslashes, because they are in a header too (RFC 6750, section 3). */
const TOKEN_PROBLEMS: Readonly<Record<TokenProblem, string>> = {
  expired: 'The access token has expired. Refresh it (svc token prints a fresh one), or sign in again.',
  revoked: 'The access token was revoked: its device was signed out, or the invitation was withdrawn. Sign in again.',
  unknown: 'This token is not known here. Check the address of the service, or sign in again (svc login).',
}

const NO_ACCESS: Access = { schemes: [], isOpen: false }

/**
 * Tries each scheme. When a check fails and no other credential is valid, the answer is 503 and not 401, because
 * clients discard valid tokens on 401.
 */
async function firstCaller(
  schemes: readonly Scheme[],
  req: Request,
  onFailure: (error: unknown) => void,
): Promise<Caller | null> {
  const failures: unknown[] = []
  for (const scheme of schemes) {
    try {
      const found = scheme(req)
      // Most callers are in a cache: awaiting a value would delay them.
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

const BEARER = 'bearer '

/** The token of `Authorization: Bearer` (RFC 6750, section 2.1). */
export function bearerOf(req: Pick<Request, 'headers'>): string | undefined {
  const { authorization = '' } = req.headers
  if (authorization.slice(0, BEARER.length).toLowerCase() !== BEARER) return undefined
  const token = authorization.slice(BEARER.length).trim()
  return token === '' || /\s/.test(token) ? undefined : token
}
