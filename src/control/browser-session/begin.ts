import type { Request } from 'express'
import { clearTokensOfOthers, cookieOf, setCookie } from '../../http/cookies.ts'
import type { CookieReply } from '../../http/cookies.ts'
import type { RequestHead } from '../../http/request.ts'
import { ipOf, userAgentOf } from '../../http/request.ts'
import { newRowId } from '../../kernel/identifier.ts'
import { hashSecret, newSecret, Secret } from '../../kernel/secret.ts'
import { beginTimes, COOKIE_SECONDS } from './rules.ts'
import type { SignedInBrowser } from './store.ts'

/**
 * Makes a session that begins now and replaces the one of the request's cookie, and the new cookie; the caller saves
 * the one and sets the other. The session always gets a new secret, so an attacker who planted a cookie in the browser
 * before cannot share the session (session fixation).
 */
export function beginBrowserSession(
  req: RequestHead,
  invitationId: string,
  now: Date,
): { cookie: Secret; browser: SignedInBrowser } {
  const cookie = newSecret('svcs_')
  const session = {
    ...beginTimes(now),
    id: newRowId(now),
    hash: hashSecret(cookie),
    invitationId,
    ip: ipOf(req),
    userAgent: userAgentOf(req),
  }
  const old = cookieOf(req, 'svc_session')
  return { cookie, browser: { session, replaces: old ? hashSecret(new Secret(old)) : null } }
}

/** Sets the cookie of a session that has begun, and signs the browser out of another account that it has tokens of. */
export function setSessionCookie(
  req: Pick<Request, 'caller'>,
  res: CookieReply,
  accountId: string,
  cookie: Secret,
): void {
  setCookie(res, 'svc_session', cookie, COOKIE_SECONDS)
  clearTokensOfOthers(req, res, accountId)
}
