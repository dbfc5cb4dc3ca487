import type { Request, RequestHandler } from 'express'
import { ApiError } from '../http/errors.ts'
import { cookieOf } from '../http/cookies.ts'
import { networkKey } from '../http/rate-limit.ts'
import { ipOf } from '../http/request.ts'
import { putNewest } from '../access/bounded-map.ts'

/**
 * Limits how many unknown credentials one network may send: tokens of links, device codes, refresh tokens, session
 * cookies and passkey challenges. Nobody can guess them, but looking each of them up costs a query. Only unknown ones
 * count, so that many devices behind one address are not refused. Each process counts for itself, because the limit
 * protects the process.
 */
export type UnknownCredentials = {
  /** Counts a credential that the database does not know. */
  count(ip: string): void
  /** Refuses the requests of a network at its limit that name such a credential, before the operation is known. */
  readonly refuseOpen: RequestHandler
  /** Refuses the requests of a network at its limit that carry a cookie. For operations that need a caller. */
  readonly refuseCookie: RequestHandler
}

const WINDOW_MS = 60_000

/** How many networks are remembered. The oldest is forgotten first. */
const MAX_NETWORKS = 10_000

/** The open operations that look a credential of their body or query up. */
const OPEN_PATHS = new Set([
  '/v1/auth/magic/consume',
  '/sign-in/email',
  '/v1/auth/device/poll',
  '/v1/auth/token/refresh',
  '/v1/auth/passkeys/login/finish',
  '/oauth/token',
  '/oauth/revoke',
])

type Needs = {
  /** The limit within a minute; 0 is no limit. */
  readonly perMinute: number
  /** A clock that is never set back, in milliseconds. */
  readonly now?: () => number
}

export function makeUnknownCredentials({ perMinute, now = () => performance.now() }: Needs): UnknownCredentials {
  const networks = new Map<string, { count: number; readonly endsAt: number }>()

  function count(ip: string): void {
    const key = networkKey(ip)
    const known = networks.get(key)
    if (known && now() < known.endsAt) {
      known.count += 1
      return
    }
    putNewest(networks, key, { count: 1, endsAt: now() + WINDOW_MS }, MAX_NETWORKS)
  }

  function waitSeconds(ip: string): number {
    const known = networks.get(networkKey(ip))
    const isReached = perMinute > 0 && known !== undefined && known.count >= perMinute
    return isReached ? Math.max(0, known.endsAt - now()) / 1000 : 0
  }

  const refuseIf =
    (isMeant: (req: Request) => boolean): RequestHandler =>
    (req, _res, next) => {
      const retryAfterSeconds = isMeant(req) ? waitSeconds(ipOf(req)) : 0
      next(retryAfterSeconds > 0 ? new ApiError('rate_limited', { retryAfterSeconds }) : undefined)
    }

  return { count, refuseOpen: refuseIf(namesCredential), refuseCookie: refuseIf(carriesCookie) }
}

function namesCredential(req: Request): boolean {
  const path = req.path.replace(/\/$/, '')
  return OPEN_PATHS.has(path) || (path === '/v1/auth/logout' && carriesCookie(req))
}

function carriesCookie(req: Request): boolean {
  return Boolean(cookieOf(req, 'svc_session') ?? cookieOf(req, 'svc_refresh'))
}
