import { setImmediate as nextTurn } from 'node:timers/promises'
import express from 'express'
import type { Express, RequestHandler } from 'express'
import type { ExplainToken } from '../kernel/caller.ts'
import type { Logger } from '../log.ts'
import type { OnCaller, Schemes } from './authenticate.ts'
import { composeMiddleware } from './composed-middleware.ts'
import { routesOf } from './contract.ts'
import type { Contract } from './contract.ts'
import { readCookies } from './cookies.ts'
import { errorHandler } from './error-handler.ts'
import type { WriteErrorPage } from './error-handler.ts'
import { ApiError } from './errors.ts'
import { makeFindPath } from './find-path.ts'
import type { FindPath } from './find-path.ts'
import type { Handlers, OperationId } from './operation.ts'
import { operationOf } from './request.ts'
import { assignRequestId, logRequests } from './telemetry/request-log.ts'
import type { OnRequest } from './telemetry/request-metrics.ts'
import { normalizeContentType } from './validation/content-type.ts'
import { guard } from './validation/guard.ts'
import { makeValidator } from './validation/validator.ts'
import type { Validator } from './validation/validator.ts'

/** The operations of one role, the control plane or the gateway, and the steps that only this role needs. */
export type RoleRoutes = {
  readonly contract: Contract
  readonly handlers: Partial<Handlers<OperationId>>
  readonly schemes: Schemes
  readonly explainToken: ExplainToken
  readonly parseBody: RequestHandler
  /** Report every mistake of a request instead of the first one, which is for small bodies. */
  readonly nameAllMistakes: boolean
  /** The operations whose first requests must not wait for anything that is opened when it is needed. */
  readonly firstOperations: readonly OperationId[]
  /** Runs before the caller is known. Open operations such as `/healthz` skip it, so that they always answer. */
  readonly limit?: RequestHandler
  /** Runs when the caller is known, before the body is read. */
  readonly limitCaller?: RequestHandler
  /** Called with each caller that was identified. It must return at once. */
  readonly onCaller?: OnCaller
  /** Runs before the operation is known. */
  readonly before: readonly RequestHandler[]
}

type Needs = {
  readonly roles: readonly RoleRoutes[]
  readonly log: Logger
  readonly onRequest?: OnRequest
  /** Express's `trust proxy`; undefined trusts no proxy. */
  readonly trustProxy: string | undefined
  /** Whether the public address is https, which decides the names of the cookies. */
  readonly secure: boolean
  readonly isDatabaseUnavailable: (error: unknown) => boolean
  readonly writeErrorPage: WriteErrorPage
  readonly loginRoutes: { readonly deviceStart: string; readonly page: string }
}

export type HttpApp = {
  readonly app: Express
  /**
   * Opens the checks of the operations that the roles expect first, one after the other, so that requests are served
   * between them.
   */
  prepare(): Promise<void>
}

/** Creates the Express app that serves every operation of these roles and nothing else. */
export function createApp(needs: Needs): HttpApp {
  const { log, onRequest, secure, trustProxy } = needs
  const app = express()
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').set('query parser', 'simple')
  if (trustProxy !== undefined) app.set('trust proxy', toTrustProxy(trustProxy))

  const steps = [assignRequestId, logRequests(log, onRequest), normalizeContentType, headAsGet, parseCookies(secure)]
  const onFailure = (err: unknown) => log.error({ err }, 'authentication.failed')
  const served = needs.roles.map((role) => serveRole(role, onFailure))
  app.use(composeMiddleware([...steps, dispatch(served)]))
  app.use(errorHandler(needs))
  return {
    app,
    async prepare() {
      for (const role of served) await role.prepare()
    },
  }
}

/** HEAD works wherever GET does; Node sends no body for it. */
const headAsGet: RequestHandler = (req, _res, next) => {
  if (req.method === 'HEAD') {
    req.isHead = true
    req.method = 'GET'
  }
  next()
}

function parseCookies(secure: boolean): RequestHandler {
  return (req, _res, next) => {
    req.cookies = readCookies(req.headers.cookie, secure)
    next()
  }
}

/** A role with its part of the app. */
type ServedRole = { readonly findPath: FindPath; readonly serve: RequestHandler; readonly prepare: () => Promise<void> }

function serveRole(role: RoleRoutes, onFailure: (error: unknown) => void): ServedRole {
  const validator = makeValidator(role.contract, role.nameAllMistakes)
  const guarded = guard({ ...role, validator, onFailure })
  const steps = [refuseWebSocket, ...role.before, ...guarded, mount(role.contract, role.handlers)]
  return {
    findPath: makeFindPath(role.contract),
    serve: composeMiddleware(steps),
    prepare: () => prepare(role, validator),
  }
}

async function prepare({ contract, firstOperations }: RoleRoutes, { open }: Validator): Promise<void> {
  for (const route of routesOf(contract).filter(({ id }) => firstOperations.includes(id))) {
    await nextTurn()
    await open(route)
  }
}

/**
 * Finds the path of a request in the contract, and passes the request to the role that has the path. Of two roles with
 * the same path, such as `/healthz`, the first one counts.
 */
function dispatch(served: readonly ServedRole[]): RequestHandler {
  return (req, res, next) => {
    for (const { findPath, serve } of served) {
      const foundPath = findPath(req.path)
      if (!foundPath) continue
      req.foundPath = foundPath
      return serve(req, res, next)
    }
    return next(new ApiError('not_found', { message: 'No such route.' }))
  }
}

/** Status 426 makes agents that try a WebSocket first fall back to plain requests at once; others make them retry. */
const refuseWebSocket: RequestHandler = (req, _res, next) => {
  const isUpgrade = req.headers.upgrade?.toLowerCase().includes('websocket')
  next(isUpgrade ? new ApiError('upgrade_required') : undefined)
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

/** Converts the setting to what Express takes: a number of proxies, true, or a list of addresses. */
function toTrustProxy(setting: string): number | boolean | string {
  if (/^\d+$/.test(setting)) return Number(setting)
  return setting === 'true' ? true : setting
}
