import type { RequestHandler } from 'express'
import { ApiError } from './errors.ts'

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS']

/**
 * Refuses a state change that another site's page makes in a visitor's browser. Browsers say where a request comes from and pages cannot
 * forge it; programs say nothing and pass. Signing in and out are guarded too: an attacker's own token, posted from his page,
 * must not sign a visitor in.
 */
export function sameOrigin(allowedOrigins: readonly string[]): RequestHandler {
  return (req, _res, next) => {
    if (SAFE_METHODS.includes(req.method) || isOurs(req.headers, allowedOrigins)) return next()
    next(new ApiError('forbidden', { message: 'This request comes from a page of another site.' }))
  }
}

function isOurs(
  { origin, 'sec-fetch-site': site }: { origin?: string | undefined; 'sec-fetch-site'?: unknown },
  allowed: readonly string[],
): boolean {
  // Pages that name themselves to nobody (`Referrer-Policy: no-referrer`) send their own forms with the origin `null` (Fetch, section
  // 3.2). So do pages without an origin; what tells them apart is that browsers call the former same-origin.
  if (origin === 'null') return site === 'same-origin'
  if (origin !== undefined) return allowed.includes(origin)
  return site !== 'cross-site' && site !== 'same-site'
}
