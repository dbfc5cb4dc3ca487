/**
 * What the requests of one role pass: the steps before the handler, and the handler of the operation. Their order
 * matters: a request costs little until its caller is known.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Request, RequestHandler } from 'express'
import type { ExplainToken } from '../kernel/caller.ts'
import { accessOf, authenticate } from './authenticate.ts'
import type { Access, OnCaller, Schemes } from './authenticate.ts'
import { hasBody } from './body.ts'
import { composeMiddleware } from './composed-middleware.ts'
import { routesOf } from './contract.ts'
import type { Contract } from './contract.ts'
import { ApiError } from './errors.ts'
import { findOperation } from './find-operation.ts'
import { makeFindPath } from './find-path.ts'
import type { FindPath } from './find-path.ts'
import type { Handlers, OperationId } from './operation.ts'
import { operationOf } from './request.ts'
import { makeValidator } from './validation/validator.ts'

/** The operations of one role, the control plane or the gateway, and the steps that only this role needs. */
export type RoleRoutes = {
  readonly contract: Contract
  readonly handlers: Partial<Handlers<OperationId>>
  readonly schemes: Schemes
  readonly explainToken: ExplainToken
  /** Reads the body into `req.body`. It runs after authentication, so that only known callers cost parsing. */
  readonly parseBody: RequestHandler
  /** Report every mistake of a request instead of the first one, which is for small bodies. */
  readonly nameAllMistakes: boolean
  /** The operations whose checks are opened soon after the start, because their first requests must not wait for it. */
  readonly firstOperations: readonly OperationId[]
  /** Runs before the caller is known. Open operations such as `/healthz` skip it, so that they always answer. */
  readonly limit?: RequestHandler
  /** Runs when the caller is known, before the body is read. Open operations may have no caller. */
  readonly limitCaller?: RequestHandler
  /** Called with each caller that was identified. It must return at once. */
  readonly onCaller?: OnCaller
  /** Runs before the operation is known. */
  readonly before: readonly RequestHandler[]
}

/** A role with its part of the app. */
export type ServedRole = {
  readonly findPath: FindPath
  /** Serves a request whose path is one of the role's. */
  readonly serve: RequestHandler
  /** Opens the checks of the role's first operations, one after the other, so that requests are served between them. */
  prepare(): Promise<void>
}

/** Composes the steps of a role. `onFailure` is called with the error when a credential could not be checked. */
export function serveRole(role: RoleRoutes, onFailure: (error: unknown) => void): ServedRole {
  const { contract, limit, limitCaller, firstOperations } = role
  const { checkRequest, open } = makeValidator(contract, role)
  const access = accessOf(contract, role.schemes)
  const steps = [
    refuseWebSocket,
    ...role.before,
    findOperation,
    ...(limit ? [exceptOpenOperations(access, limit)] : []),
    authenticate(contract, access, { ...role, onFailure }),
    ...(limitCaller ? [limitCaller] : []),
    setTypeOfMissingBody,
    whereBodyIsTaken(role.parseBody),
    checkRequest,
    requireBody,
    mount(contract, role.handlers),
  ]
  return {
    findPath: makeFindPath(contract),
    serve: composeMiddleware(steps),
    async prepare() {
      for (const route of routesOf(contract).filter(({ id }) => firstOperations.includes(id))) {
        await nextTurn()
        await open(route)
      }
    },
  }
}

/**
 * Status 426 makes agents that try a WebSocket first fall back to plain requests at once; others make them retry. A
 * proxy such as nginx passes the key of the handshake on, but not `Upgrade`, which is for its own connection only.
 */
const refuseWebSocket: RequestHandler = (req, _res, next) => {
  const { upgrade = '', 'sec-websocket-key': key } = req.headers
  const isUpgrade = key !== undefined || upgrade.toLowerCase().includes('websocket')
  next(isUpgrade ? new ApiError('upgrade_required') : undefined)
}

/**
 * Sets the content type of a request without a body to the one that the operation requires. The validator then says
 * that the body is missing, and not that its type is wrong.
 */
const setTypeOfMissingBody: RequestHandler = (req, _res, next) => {
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

/**
 * Runs the handler of the matched operation. Throws at start when an operation of the contract has no handler or a
 * handler no operation, so that the document and the service always agree.
 */
export function mount(contract: Contract, handlers: Partial<Handlers<OperationId>>): RequestHandler {
  const ids = new Set<string>(routesOf(contract).map(({ id }) => id))
  const missing = [...ids].filter((id) => !(id in handlers))
  const extra = Object.keys(handlers).filter((id) => !ids.has(id))
  if (missing.length + extra.length > 0) {
    throw new Error(`Contract and handlers differ. Missing: ${list(missing)}. Not in the contract: ${list(extra)}.`)
  }
  // Each handler has the type of its own operation. The check above ties the list to the contract.
  const byId = handlers as unknown as Partial<Record<OperationId, RequestHandler>>
  return (req, res, next) => byId[operationOf(req).operationId]?.(req, res, next)
}

function list(ids: readonly string[]): string {
  return ids.length > 0 ? ids.join(', ') : 'none'
}
