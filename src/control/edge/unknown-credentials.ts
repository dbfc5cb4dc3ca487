import type { Request, RequestHandler } from 'express'
import { cookieOf } from '../../http/cookies.ts'
import { ipOf } from '../../http/request.ts'
import { makeUnknownCount } from '../../http/unknown-credentials.ts'

/** Counts a credential that the database does not know, by the IP address of its request. */
export type OnUnknownCredential = (ip: string) => void

/**
 * Limits how many unknown credentials one network may send: tokens of links, device codes, refresh tokens, session
 * cookies and passkey challenges.
 */
export type UnknownCredentials = {
  readonly count: OnUnknownCredential
  /** Refuses the requests of a network at its limit that name such a credential, before the operation is known. */
  readonly refuseOpen: RequestHandler
  /** Refuses the requests of a network at its limit that carry a cookie. For operations that need a caller. */
  readonly refuseCookie: RequestHandler
}

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

/** The limit is for each minute; 0 is no limit. */
export function makeUnknownCredentials({ perMinute }: { readonly perMinute: number }): UnknownCredentials {
  const { count, refuse } = makeUnknownCount({ perMinute })
  const refuseIf =
    (isMeant: (req: Request) => boolean): RequestHandler =>
    (req, _res, next) => {
      if (isMeant(req)) refuse(ipOf(req))
      next()
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
