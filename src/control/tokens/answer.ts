import type { Request } from 'express'
import { setCookie } from '../../http/cookies.ts'
import type { CookieReply } from '../../http/cookies.ts'
import { DAY_SECONDS } from '../../kernel/durations.ts'
import type { IssuedTokens } from './issue.ts'
import type { DeviceSession } from './rows.ts'

/** What the JSON contains instead of a token that a cookie carries. */
const REDACTED = '[redacted]'

/** Whether the caller asked for HTTP-only cookies. The validator has turned the header into a boolean. */
export function wantsCookies(req: Pick<Request, 'headers'>): boolean {
  return String(req.headers['x-svc-use-cookies']) === 'true'
}

type TokenReply = CookieReply & { set(name: string, value: string): unknown }

type Settings = {
  readonly lifetimes: { readonly accessTokenSeconds: number; readonly refreshIdleDays: number }
  readonly secure: boolean
}

/** The token set of the contract: who signed in, on which device, and the tokens. */
export function toTokenSetAnswer(
  req: Pick<Request, 'headers'>,
  res: TokenReply,
  session: DeviceSession,
  tokens: IssuedTokens,
  settings: Settings,
) {
  return {
    account: session.email,
    organization: session.organization,
    team: session.team,
    deviceId: session.deviceId,
    ...toTokenAnswer(req, res, tokens, settings),
  }
}

/** The tokens for an answer: in the JSON, or in cookies that this sets on the answer, with the JSON redacted. */
export function toTokenAnswer(
  req: Pick<Request, 'headers'>,
  res: TokenReply,
  tokens: IssuedTokens,
  { lifetimes, secure }: Settings,
): { accessToken: string; refreshToken: string; expiresAt: string } {
  res.set('Cache-Control', 'no-store')
  const expiresAt = tokens.expiresAt.toISOString()
  if (!wantsCookies(req)) {
    return { accessToken: tokens.accessToken.reveal(), refreshToken: tokens.refreshToken.reveal(), expiresAt }
  }
  setCookie(res, 'svc_access', tokens.accessToken, lifetimes.accessTokenSeconds, secure)
  setCookie(res, 'svc_refresh', tokens.refreshToken, lifetimes.refreshIdleDays * DAY_SECONDS, secure)
  return { accessToken: REDACTED, refreshToken: REDACTED, expiresAt }
}
