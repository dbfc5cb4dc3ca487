import type { Request } from 'express'
import { ipOf, userAgentOf } from '../../http/request.ts'
import { hashSecret, newSecret } from '../../kernel/secret.ts'
import type { Secret } from '../../kernel/secret.ts'
import { beginTimes } from './rules.ts'
import type { NewBrowserSession } from './store.ts'

/**
 * Makes a session that begins now, and the cookie for it; the caller saves the one and sets the other. The session
 * always gets a new secret, so an attacker who planted a cookie in the browser before cannot share the session (session
 * fixation).
 */
export function beginBrowserSession(
  req: Pick<Request, 'ip' | 'socket' | 'headers'>,
  invitationId: string,
  now: Date,
): { cookie: Secret; session: NewBrowserSession } {
  const cookie = newSecret('svcs_')
  const session = {
    ...beginTimes(now),
    hash: hashSecret(cookie),
    invitationId,
    ip: ipOf(req),
    userAgent: userAgentOf(req),
  }
  return { cookie, session }
}
