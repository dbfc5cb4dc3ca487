import express from 'express'
import type { Express, RequestHandler } from 'express'
import type { Logger } from '../log.ts'
import type { ExplainToken } from '../kernel/caller.ts'
import type { OnCaller, Schemes } from './authenticate.ts'
import { composeMiddleware } from './composed-middleware.ts'
import { routesOf, toExpressPath } from './contract.ts'
import type { Contract } from './contract.ts'
import { readCookies } from './cookies.ts'
import { errorHandler } from './error-handler.ts'
import type { WriteErrorPage } from './error-handler.ts'
import { ApiError } from './errors.ts'
import type { OnRequest } from './metrics.ts'
import type { Handlers, OperationId } from './operation.ts'
import { operationOf } from './request.ts'
import { assignRequestId, logRequests } from './request-log.ts'
import { normalizeContentType } from './validation/content-type.ts'
import { guard } from './validation/guard.ts'

/** The operations of one role, the control plane or the gateway, and the steps that only this role needs. */
export type RoleRoutes = {
  readonly contract: Contract
  readonly handlers: Partial<Handlers<OperationId>>
  readonly schemes: Schemes
  readonly explainToken: ExplainToken
  readonly parseBody: RequestHandler
  /** Report every mistake of a request instead of the first one, which is for small bodies. */
  readonly nameAllMistakes: boolean
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

/** Creates the Express app that serves every operation of these roles and nothing else. */
export async function createApp(needs: Needs): Promise<Express> {
  const { log, onRequest, secure, trustProxy } = needs
  const app = express()
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').set('query parser', 'simple')
  if (trustProxy !== undefined) app.set('trust proxy', toTrustProxy(trustProxy))

  const steps = [assignRequestId, logRequests(log, onRequest), normalizeContentType, headAsGet, parseCookies(secure)]
  app.use(composeMiddleware([...steps, await dispatch(needs)]))
  app.use(errorHandler(needs))
  return app
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

/**
 * Passes a request to the role that has its path. Of two roles with the same path, such as `/healthz`, the first one
 * counts.
 */
async function dispatch({ roles, log }: Pick<Needs, 'roles' | 'log'>): Promise<RequestHandler> {
  const onFailure = (err: unknown) => log.error({ err }, 'authentication.failed')
  const served = await Promise.all(
    roles.map(async (role) => ({ hasPath: makePathTest(role.contract), serve: await serve(role, onFailure) })),
  )
  return (req, res, next) => {
    const role = served.find(({ hasPath }) => hasPath(req.path))
    if (!role) return next(new ApiError('not_found', { message: 'No such route.' }))
    return role.serve(req, res, next)
  }
}

async function serve(role: RoleRoutes, onFailure: (error: unknown) => void): Promise<RequestHandler> {
  const guarded = await guard({ ...role, onFailure })
  return composeMiddleware([refuseWebSocket, ...role.before, ...guarded, mount(role.contract, role.handlers)])
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

/**
 * Makes a test for the paths of a document, with or without a slash at the end. A path that cannot be decoded is none.
 */
function makePathTest(contract: Contract): (path: string) => boolean {
  const paths = Object.keys(contract.paths)
  const exact = new Set(paths.filter((path) => !path.includes('{')))
  const patterns = paths
    .filter((path) => path.includes('{'))
    .map((path) => new RegExp(`^${toExpressPath(path).replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`))
  return (path) => {
    const plain = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
    return exact.has(plain) || (isDecodable(plain) && patterns.some((pattern) => pattern.test(plain)))
  }
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** Converts the setting to what Express takes: a number of proxies, true, or a list of addresses. */
function toTrustProxy(setting: string): number | boolean | string {
  if (/^\d+$/.test(setting)) return Number(setting)
  return setting === 'true' ? true : setting
}
