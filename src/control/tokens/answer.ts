import type { Request } from 'express'
import { setCookie } from '../../http/cookies.ts'
import type { CookieReply } from '../../http/cookies.ts'
import type { IssuedTokens } from './issue.ts'
import type { DeviceSession } from './store.ts'

/** What stands in the JSON where a cookie carries the token. */
const REDACTED = '[redacted]'

/** Whether the caller asked for HTTP-only cookies. The validator has turned the header into a boolean. */
export function wantsCookies(req: Pick<Request, 'headers'>): boolean {
  return String(req.headers['x-svc-use-cookies']) === 'true'
}

type Lifetimes = { readonly accessTokenSeconds: number; readonly refreshIdleDays: number }

/** Who signed in, on which device, and the tokens. */
export function answerTokenSet(
  req: Pick<Request, 'headers'>,
  res: TokenReply,
  session: DeviceSession,
  tokens: IssuedTokens,
  settings: { lifetimes: Lifetimes; secure: boolean },
) {
  return {
    account: session.email,
    organization: session.organization,
    team: session.team,
    deviceId: session.deviceId,
    ...answerTokens(req, res, tokens, settings),
  }
}

type TokenReply = CookieReply & { set(name: string, value: string): unknown }

/** The tokens as an answer shows them: in the JSON, or in cookies with the JSON redacted. */
export function answerTokens(
  req: Pick<Request, 'headers'>,
  res: TokenReply,
  tokens: IssuedTokens,
  { lifetimes, secure }: { lifetimes: Lifetimes; secure: boolean },
): { accessToken: string; refreshToken: string; expiresAt: string } {
  res.set('Cache-Control', 'no-store')
  const expiresAt = tokens.expiresAt.toISOString()
  if (!wantsCookies(req)) {
    return { accessToken: tokens.accessToken.reveal(), refreshToken: tokens.refreshToken.reveal(), expiresAt }
  }
  setCookie(res, 'svc_access', tokens.accessToken, lifetimes.accessTokenSeconds, secure)
  setCookie(res, 'svc_refresh', tokens.refreshToken, lifetimes.refreshIdleDays * 86_400, secure)
  return { accessToken: REDACTED, refreshToken: REDACTED, expiresAt }
}
