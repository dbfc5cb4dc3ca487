import type { Request, RequestHandler } from 'express'
import type { Caller, ExplainToken, Identify, TokenProblem } from '../kernel/caller.ts'
import { looksLikeApiKey } from '../kernel/credentials/api-key.ts'
import { Secret } from '../kernel/secret.ts'
import { routesOf, signInFirstIn } from './contract.ts'
import type { Contract, Route } from './contract.ts'
import { ApiError } from './errors.ts'
import type { OperationId } from './operation.ts'
import { operationOf } from './request.ts'

/**
 * Finds the caller of a request by one security scheme of the contract; null when the request has no valid credential
 * of it.
 */
type Scheme = (req: Request) => Promise<Caller | null> | Caller | null

export type Schemes = Readonly<Record<string, Scheme>>

/** Finds the caller of an access token; null without one. API keys are no tokens: they have schemes of their own. */
export function callerOfToken(token: string | undefined, identify: Identify): ReturnType<Identify> {
  return !token || looksLikeApiKey(token) ? null : identify(new Secret(token))
}

/** The credential of the header `x-api-key`, which clients of the messages dialect send. */
export function xApiKeyOf(req: Request): string | undefined {
  return req.get('x-api-key')
}

/**
 * Who may call an operation: the accepted schemes, in order, with their names, and whether it is open to callers
 * without a credential.
 */
export type Access = {
  readonly schemes: readonly Scheme[]
  readonly names: readonly string[]
  readonly isOpen: boolean
}

/**
 * Reads who may call which operation from the document (OpenAPI 3.1, section 4.8.30). Throws at start when an operation
 * has no `security`, names an unknown scheme, or asks for two schemes at once.
 */
export function accessOf(contract: Contract, schemes: Schemes): ReadonlyMap<OperationId, Access> {
  return new Map(routesOf(contract).map((route) => [route.id, toAccess(route, schemes)]))
}

function toAccess({ id, operation: { security } }: Route, schemes: Schemes): Access {
  if (!security) throw new Error(`The contract has no "security" for ${id}. Add one; [] makes the operation open.`)
  const alternatives = security.map((alternative) => Object.keys(alternative))
  const together = alternatives.find((names) => names.length > 1)
  if (together) throw new Error(`${id} asks for ${together.join(' and ')} at once, which is not supported.`)
  const names = alternatives.flat()
  return {
    names,
    schemes: names.map((name) => {
      const scheme = schemes[name]
      if (!scheme) throw new Error(`${id} asks for the security scheme ${name}, which is not implemented.`)
      return scheme
    }),
    isOpen: alternatives.length === 0 || alternatives.some((alternative) => alternative.length === 0),
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
 * operation is open. No cache may store an answer, unless the handler allows it: a shared cache does not know that
 * cookies and `x-api-key` are credentials (RFC 9111, section 3.5), and may store one that says nothing (section 4.2.2).
 */
export function authenticate(
  contract: Contract,
  access: ReadonlyMap<OperationId, Access>,
  { explainToken, onFailure, onCaller }: AuthenticationHooks,
): RequestHandler {
  const signInFirst = new Set(signInFirstIn(contract))
  return async (req, res, next) => {
    res.setHeader('Cache-Control', 'no-store')
    const { operationId: id } = operationOf(req)
    const { schemes, names, isOpen } = access.get(id) ?? NO_ACCESS
    const found = await firstCaller(schemes, req, onFailure)
    if (!found || found instanceof ApiError) {
      if (isOpen) return next()
      const code = signInFirst.has(id) ? 'authenticate_first' : 'unauthorized'
      throw found ?? (await refuse(code, names, req, explainToken))
    }
    req.caller = found
    onCaller?.(found, req)
    next()
  }
}

/** The refusal of a request without a good credential: it says what is wrong with the token or key that was sent. */
async function refuse(
  code: 'authenticate_first' | 'unauthorized',
  names: readonly string[],
  req: Request,
  explainToken: ExplainToken,
) {
  const token = bearerOf(req) ?? xApiKeyOf(req)
  if (!token) return new ApiError(code, names.includes('BearerKey') ? { message: NO_CREDENTIAL } : {})
  if (looksLikeApiKey(token)) return new ApiError(code, { message: explainKey(names, req), isInvalidToken: true })
  if (!bearerOf(req) && !names.includes('ApiKey')) return new ApiError(code, { message: TOKEN_IN_WRONG_HEADER })
  const problem = await explainToken(new Secret(token))
  const message = TOKEN_PROBLEMS[problem]
  return new ApiError(code, { message, isInvalidToken: true, isSolvedByRefresh: problem === 'expired' })
}

/** What is wrong with an API key. */
function explainKey(names: readonly string[], req: Request): string {
  if (!names.includes('BearerKey')) return KEY_PROBLEMS.not_accepted
  const isRead = looksLikeApiKey(bearerOf(req)) || names.includes('ApiKey')
  return isRead ? KEY_PROBLEMS.not_valid : KEY_PROBLEMS.wrong_header
}

const NO_CREDENTIAL =
  'There is no credential. Send an API key (svc keys create) or an access token (svc token) as Authorization: Bearer.'

// These messages have no quotes and backslashes, because they are in a header too (RFC 6750, section 3).
const KEY_PROBLEMS = {
  not_accepted:
    'API keys are only for model calls, and for lists of models, workers and spending limits. Sign in for this, for ' +
    'example by svc login.',
  not_valid:
    'This API key is not valid: it is mistyped or revoked, or it has expired. Create another by svc keys create.',
  wrong_header: 'Send an API key to this route as Authorization: Bearer, not as x-api-key.',
} as const

const TOKEN_PROBLEMS: Readonly<Record<TokenProblem, string>> = {
  expired: 'The access token has expired. Refresh it (svc token prints a fresh one), or sign in again.',
  revoked: 'The access token was revoked: its device was signed out, or the invitation was withdrawn. Sign in again.',
  unknown: 'This token is not known here. Check the address of the service, or sign in again (svc login).',
}

const TOKEN_IN_WRONG_HEADER = 'Send an access token to this route as Authorization: Bearer, not as x-api-key.'

const NO_ACCESS: Access = { schemes: [], names: [], isOpen: false }

/**
 * Tries each scheme. When a check fails and no other credential is valid, the answer is 503 and not 401, because
 * clients discard valid tokens on 401. A scheme that refuses its credential with an explanation throws an `ApiError`,
 * which is returned when no other credential is valid.
 */
async function firstCaller(
  schemes: readonly Scheme[],
  req: Request,
  onFailure: (error: unknown) => void,
): Promise<Caller | ApiError | null> {
  const failures: unknown[] = []
  let refusal: ApiError | null = null
  for (const scheme of schemes) {
    try {
      const found = scheme(req)
      // Most callers are in a cache: awaiting a value would delay them.
      const caller = found instanceof Promise ? await found : found
      if (caller) return caller
    } catch (error) {
      if (error instanceof ApiError) {
        refusal ??= error
        continue
      }
      onFailure(error)
      failures.push(error)
    }
  }
  if (failures.length > 0) throw new ApiError('service_unavailable', { message: UNCHECKED, cause: failures[0] })
  return refusal
}

/** A gateway may need its database or the control plane for that. */
const UNCHECKED = 'Your credential cannot be checked now. Try again shortly.'

const BEARER = 'bearer '

/** The token of `Authorization: Bearer` (RFC 6750, section 2.1). */
export function bearerOf(req: Pick<Request, 'headers'>): string | undefined {
  const { authorization = '' } = req.headers
  if (authorization.slice(0, BEARER.length).toLowerCase() !== BEARER) return undefined
  const token = authorization.slice(BEARER.length).trim()
  return token === '' || /\s/.test(token) ? undefined : token
}
