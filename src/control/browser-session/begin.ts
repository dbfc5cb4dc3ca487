import type { Request } from 'express'
import { ipOf, userAgentOf } from '../../http/request.ts'
import { hashSecret, newSecret } from '../../kernel/secret.ts'
import type { Secret } from '../../kernel/secret.ts'
import { beginTimes } from './rules.ts'
import type { NewBrowserSession } from './store.ts'

/**
 * A session that begins now, and the cookie for it. It always has a new id: one that was planted in the browser before must not become
 * a session.
 */
export function beginBrowserSession(
  req: Pick<Request, 'ip' | 'headers'>,
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
