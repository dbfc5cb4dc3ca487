import type { Request, RequestHandler } from 'express'
import { accessOf, authenticate } from '../authenticate.ts'
import type { Access, AuthenticationHooks, Schemes } from '../authenticate.ts'
import { hasBody } from '../body.ts'
import type { Contract } from '../contract.ts'
import { ApiError } from '../errors.ts'
import type { OperationId } from '../operation.ts'
import { operationOf } from '../request.ts'
import { findOperation } from './find-operation.ts'
import type { Validator } from './validator.ts'

type Needs = AuthenticationHooks & {
  readonly contract: Contract
  readonly validator: Pick<Validator, 'checkRequest'>
  readonly schemes: Schemes
  /** Runs before the caller is known, except for open operations. */
  readonly limit?: RequestHandler
  /** Runs after authentication. Open operations may have no caller. */
  readonly limitCaller?: RequestHandler
  /** Reads the body into `req.body`. It runs after authentication, so that only known callers cost parsing. */
  readonly parseBody: RequestHandler
}

/**
 * The steps before every handler, in this order: find the operation, limit the address, authenticate, limit the
 * caller, read the body, check the request against the contract.
 */
export function guard(needs: Needs): RequestHandler[] {
  const { contract, limit, limitCaller, parseBody } = needs
  const access = accessOf(contract, needs.schemes)
  return [
    findOperation,
    ...(limit ? [exceptOpenOperations(access, limit)] : []),
    authenticate(contract, access, needs),
    ...(limitCaller ? [limitCaller] : []),
    settleEmptyBody,
    whereBodyIsTaken(parseBody),
    needs.validator.checkRequest,
    requireBody,
  ]
}

/** Sets the content type of a request without a body: to the required type, so that the check says what is missing. */
const settleEmptyBody: RequestHandler = (req, _res, next) => {
  if (!hasBody(req)) {
    const type = requiredTypeOf(req)
    if (type) req.headers['content-type'] = type
    else delete req.headers['content-type']
  }
  next()
}

/**
 * The validator accepts a missing body where the schema requires no field; the contract says that the body is required.
 */
const requireBody: RequestHandler = (req, _res, next) => {
  const isMissing = req.body === undefined && operationOf(req).requestBody?.required === true
  next(isMissing ? new ApiError('invalid_request', { message: 'This route needs a body.' }) : undefined)
}

/** Leaves a body unread where the operation takes none. */
function whereBodyIsTaken(parseBody: RequestHandler): RequestHandler {
  return (req, res, next) => (hasBody(req) && operationOf(req).requestBody ? parseBody(req, res, next) : next())
}

function exceptOpenOperations(access: ReadonlyMap<OperationId, Access>, limit: RequestHandler): RequestHandler {
  return (req, res, next) => (access.get(operationOf(req).operationId)?.isOpen ? next() : limit(req, res, next))
}

/** The first media type that the operation takes, where it requires a body. */
function requiredTypeOf(req: Request): string | undefined {
  const { required = false, content = {} } = operationOf(req).requestBody ?? {}
  const [first] = Object.keys(content)
  return required ? first : undefined
}
