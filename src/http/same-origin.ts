import type { RequestHandler } from 'express'
import { ApiError } from './errors.ts'

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS']

/**
 * Refuses requests that change state and come from a page of another site (CSRF). Browsers send the origin in headers
 * that pages cannot set; other programs send neither header and pass. Sign-in and sign-out are protected too: an
 * attacker's token, posted from the attacker's page, must not sign a visitor in (login CSRF).
 */
export function sameOrigin(allowedOrigins: readonly string[]): RequestHandler {
  return (req, _res, next) => {
    if (SAFE_METHODS.includes(req.method) || isSameSite(req.headers, allowedOrigins)) return next()
    next(new ApiError('forbidden', { message: 'Requests from pages of other sites are not allowed here.' }))
  }
}

function isSameSite(
  { origin, 'sec-fetch-site': site }: { origin?: string | undefined; 'sec-fetch-site'?: unknown },
  allowed: readonly string[],
): boolean {
  // Pages with `Referrer-Policy: no-referrer` send their forms with the origin `null` (Fetch, section 3.2), and so do
  // pages without an origin. Only for the former does the browser also send `Sec-Fetch-Site: same-origin`.
  if (origin === 'null') return site === 'same-origin'
  if (origin !== undefined) return allowed.includes(origin)
  return site !== 'cross-site' && site !== 'same-site'
}
