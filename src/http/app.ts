import express from 'express'
import type { Express, RequestHandler } from 'express'
import type { Logger } from '../log.ts'
import { composeMiddleware } from './composed-middleware.ts'
import { readCookies } from './cookies.ts'
import { errorHandler } from './error-handler.ts'
import type { WriteErrorPage } from './error-handler.ts'
import { ApiError } from './errors.ts'
import type { FindPath } from './find-path.ts'
import { serveRole } from './role.ts'
import type { RoleRoutes, ServedRole } from './role.ts'
import { makePathHint } from './suggest-path.ts'
import { assignRequestId, logRequests } from './telemetry/request-log.ts'
import type { OnRequest } from './telemetry/request-metrics.ts'
import { normalizeContentType } from './validation/content-type.ts'

type Needs = {
  readonly roles: readonly RoleRoutes[]
  /** The paths of a role that is at another address; null where there is none. */
  readonly elsewhere: { readonly findPath: FindPath; readonly url: string } | null
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
  const { log, onRequest, secure, trustProxy, elsewhere } = needs
  const app = express()
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').set('query parser', 'simple')
  if (trustProxy !== undefined) app.set('trust proxy', toTrustProxy(trustProxy))

  const steps = [
    assignRequestId,
    logRequests(log, onRequest),
    requireOneHost,
    requireKnownLength,
    normalizeContentType,
    headAsGet,
    parseCookies(secure),
  ]
  const onFailure = (err: unknown) => log.error({ err }, 'authentication.failed')
  const served = needs.roles.map((role) => serveRole(role, onFailure))
  const hintAt = makePathHint(needs.roles.flatMap(({ contract }) => Object.keys(contract.paths)))
  const explain = (path: string) => {
    if (elsewhere?.findPath(path)) return `No such route here. It is at ${elsewhere.url}.`
    return `No such route. ${hintAt(path)}`.trimEnd()
  }
  app.use(composeMiddleware([...steps, dispatch(served, explain)]))
  app.use(errorHandler(needs))
  return {
    app,
    async prepare() {
      for (const role of served) await role.prepare()
    },
  }
}

/**
 * Refuses a request with more than one Host, and HTTP/1.1 without one (RFC 9112, section 3.2). Node.js would answer the
 * latter without a body, and would use the first Host of several, where a proxy in front may have used another.
 */
const requireOneHost: RequestHandler = (req, _res, next) => {
  const hosts = countHosts(req.rawHeaders)
  if (hosts === 1 || (hosts === 0 && req.httpVersion !== '1.1')) return next()
  const message = hosts === 0 ? 'The request has no Host header.' : 'The request has more than one Host header.'
  next(new ApiError('invalid_request', { message }))
}

/**
 * Refuses a body whose end a proxy in front may have seen elsewhere: one with another transfer coding than `chunked`,
 * and a chunked one in HTTP/1.0, which has no such codings. What follows on the connection may belong to the body, so
 * the connection is closed (RFC 9112, section 6.1).
 */
const requireKnownLength: RequestHandler = (req, res, next) => {
  const coding = req.headers['transfer-encoding']?.toLowerCase()
  if (coding === undefined || (coding === 'chunked' && req.httpVersion === '1.1')) return next()
  res.set('Connection', 'close')
  next(new ApiError('invalid_request', { message: UNKNOWN_LENGTH }))
}

const UNKNOWN_LENGTH = 'Send the body with a Content-Length, or in HTTP/1.1 as chunked and without another coding.'

/** `rawHeaders`: names and values alternate. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
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
    req.secureCookies = secure
    req.cookies = readCookies(req.headers.cookie, secure)
    next()
  }
}

/**
 * Finds the path of a request in the contract, and passes the request to the role that has the path. Of two roles with
 * the same path, such as `/healthz`, the first one counts. `explain` says why no role has the path.
 */
function dispatch(served: readonly ServedRole[], explain: (path: string) => string): RequestHandler {
  return (req, res, next) => {
    for (const { findPath, serve } of served) {
      const foundPath = findPath(req.path)
      if (!foundPath) continue
      req.foundPath = foundPath
      return serve(req, res, next)
    }
    return next(new ApiError('not_found', { message: `${explain(req.path)} GET /docs lists the routes.` }))
  }
}

/** Converts the setting to what Express takes: a number of proxies, true, or a list of addresses. */
function toTrustProxy(setting: string): number | boolean | string {
  if (/^\d+$/.test(setting)) return Number(setting)
  return setting === 'true' ? true : setting
}
