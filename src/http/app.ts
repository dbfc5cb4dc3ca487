import { randomUUID } from 'node:crypto'
import express from 'express'
import type { Express, RequestHandler } from 'express'
import type { Logger } from '../log.ts'
import type { Schemes } from './authenticate.ts'
import { plainContentType } from './body.ts'
import type { Contract } from './contract.ts'
import { readCookies } from './cookies.ts'
import { errorHandler } from './error-handler.ts'
import type { WriteErrorPage } from './error-handler.ts'
import { ApiError } from './errors.ts'
import { guard } from './validation/guard.ts'
import { inTurn } from './composed-middleware.ts'
import type { EndedRequest } from './metrics.ts'
import { mount, toExpressPath } from './mount.ts'
import type { Handlers, OperationId } from './operation.ts'
import './request.ts'

/** The operations of the control plane or of the gateway, with what is particular to that side. */
export type Part = {
  readonly contract: Contract
  readonly handlers: Partial<Handlers<OperationId>>
  readonly schemes: Schemes
  readonly parseBody: RequestHandler
  /** Name every mistake of a body and not only the first: for bodies that are small. */
  readonly nameAllMistakes: boolean
  /** Runs before the caller is known, of operations that need one: what anybody may ask, such as the health, must always answer. */
  readonly limit?: RequestHandler
  /** Runs before the operation is known. */
  readonly before: readonly RequestHandler[]
}

type Needs = {
  readonly parts: readonly Part[]
  readonly log: Logger
  /** Told of each request that is over. */
  readonly onRequest?: (request: EndedRequest) => void
  /** Express's `trust proxy`; undefined trusts nobody. */
  readonly trustProxy: string | undefined
  /** The service is reached over https, which decides the names of cookies. */
  readonly secure: boolean
  readonly isDatabaseUnavailable: (error: unknown) => boolean
  readonly writeErrorPage: WriteErrorPage
  readonly loginRoutes: { readonly deviceStart: string; readonly page: string }
}

/** The Express app that serves these parts: every operation of their contracts, and nothing else. */
export async function createApp(needs: Needs): Promise<Express> {
  const app = express()
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').set('query parser', 'simple')
  if (needs.trustProxy !== undefined) app.set('trust proxy', proxies(needs.trustProxy))

  const steps = [identify, logRequests(needs), plainContentType, headAsGet, cookies(needs.secure)]
  app.use(inTurn([...steps, await dispatch(needs)]))
  app.use(errorHandler(needs))
  return app
}

/** Names the request, for its answer and for the log. */
const identify: RequestHandler = (req, res, next) => {
  req.id = `req_${randomUUID()}`
  res.setHeader('x-request-id', req.id)
  res.setHeader('request-id', req.id)
  next()
}

/** One line a request, when it is over. The path is the contract's, so no token of an URL is written. */
function logRequests({ log, onRequest }: Pick<Needs, 'log' | 'onRequest'>): RequestHandler {
  return (req, res, next) => {
    const startedAt = performance.now()
    res.once('close', () => {
      const ended = {
        method: req.method,
        route: req.openapi?.openApiRoute ?? 'unknown',
        status: res.statusCode,
        ms: Math.round(performance.now() - startedAt),
      }
      onRequest?.(ended)
      log.info(
        {
          requestId: req.id,
          ...ended,
          ...(req.caller && { accountId: req.caller.accountId }),
          ...(!res.writableFinished && { cut: true }),
        },
        'http.request',
      )
    })
    next()
  }
}

/** Agents that try a WebSocket first fall back to plain requests at once on this status, and only after many tries on another. */
const refuseWebSocket: RequestHandler = (req, _res, next) => {
  const asks = req.headers.upgrade?.toLowerCase().includes('websocket')
  next(asks ? new ApiError('upgrade_required') : undefined)
}

/** HEAD works wherever GET does; Node itself sends no body. */
const headAsGet: RequestHandler = (req, _res, next) => {
  if (req.method === 'HEAD') req.method = 'GET'
  next()
}

function cookies(secure: boolean): RequestHandler {
  return (req, _res, next) => {
    req.cookies = readCookies(req.headers.cookie, secure)
    next()
  }
}

/** Each path belongs to one part; a path of no part is not found. */
async function dispatch({ parts, log }: Pick<Needs, 'parts' | 'log'>): Promise<RequestHandler> {
  const onFailure = (err: unknown) => log.error({ err }, 'authenticate.failed')
  const owners = await Promise.all(
    parts.map(async (part) => ({ owns: ownsPath(part.contract), serve: await serve(part, onFailure) })),
  )
  return (req, res, next) => {
    const owner = owners.find(({ owns }) => owns(req.path))
    if (!owner) return next(new ApiError('not_found', { message: 'There is no such route.' }))
    return owner.serve(req, res, next)
  }
}

async function serve(part: Part, onFailure: (error: unknown) => void): Promise<RequestHandler> {
  const guarded = await guard({ ...part, onFailure })
  return inTurn([refuseWebSocket, ...part.before, ...guarded, mount(part.contract, part.handlers)])
}

/** Whether a path is one of the document's, an optional slash at the end included. A path that cannot be decoded names nothing. */
function ownsPath(contract: Contract): (path: string) => boolean {
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

/** A number of hops, a word or addresses, as Express takes them. */
function proxies(setting: string): number | boolean | string {
  if (/^\d+$/.test(setting)) return Number(setting)
  return setting === 'true' ? true : setting
}
