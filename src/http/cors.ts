import type { RequestHandler } from 'express'

/** What pages of other origins may send to a role, and read of its answers (CORS). */
export type CorsPolicy = {
  /** Whether browsers may send cookies with the request. */
  readonly credentials: boolean
  readonly requestHeaders: readonly string[]
  readonly answerHeaders: readonly string[]
}

/** The control plane, which also authenticates browsers by cookie. */
export const CONTROL_PLANE_CORS: CorsPolicy = {
  credentials: true,
  requestHeaders: ['authorization', 'content-type', 'last-event-id', 'x-svc-use-cookies'],
  answerHeaders: ['x-request-id', 'retry-after'],
}

/**
 * The gateway, which takes bearer tokens and no cookies. The vendors' packages send headers of their own, so all names
 * are allowed here; other lists decide which headers go upstream and come back. Without credentials, `*` means every
 * name except `authorization` (Fetch, "CORS non-wildcard request-header name").
 */
export const GATEWAY_CORS: CorsPolicy = {
  credentials: false,
  requestHeaders: ['authorization', '*'],
  answerHeaders: ['*'],
}

/** How long browsers may cache a preflight. */
const MAX_AGE_SECONDS = 600

/**
 * Lets pages of exactly these origins call the operations of a role from a browser (Fetch, section 3.2: the CORS
 * protocol) and read the answers, errors included. Answers preflights. Without origins there are no steps, and no
 * answer has a CORS header. The answer's origin is copied from the setting, never from the request.
 */
export function cors(origins: readonly string[], policy: CorsPolicy): RequestHandler[] {
  if (origins.length === 0) return []
  return [allow(origins, policy), preflights(policy)]
}

function allow(origins: readonly string[], { credentials, answerHeaders }: CorsPolicy): RequestHandler {
  return (req, res, next) => {
    // Also when the origin is not allowed: a cache must not serve that answer to an allowed origin.
    res.vary('Origin')
    const origin = origins.find((allowed) => allowed === req.headers.origin)
    if (origin !== undefined) {
      res.set('Access-Control-Allow-Origin', origin)
      res.set('Access-Control-Expose-Headers', answerHeaders.join(', '))
      if (credentials) res.set('Access-Control-Allow-Credentials', 'true')
    }
    next()
  }
}

function preflights({ requestHeaders }: CorsPolicy): RequestHandler {
  return (req, res, next) => {
    const isAllowed = res.hasHeader('Access-Control-Allow-Origin')
    const isPreflight = req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined
    if (!req.foundPath || !isAllowed || !isPreflight) return next()
    const methods = Object.keys(req.foundPath.operations).map((method) => method.toUpperCase())
    res.set({
      'Access-Control-Allow-Methods': methods.join(', '),
      'Access-Control-Allow-Headers': requestHeaders.join(', '),
      'Access-Control-Max-Age': String(MAX_AGE_SECONDS),
    })
    res.status(204).end()
  }
}
