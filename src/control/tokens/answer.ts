import type { Request } from 'express'
import type { TokenSet } from '../../../generated/openapi.ts'
import { setCookie } from '../../http/cookies.ts'
import type { CookieReply } from '../../http/cookies.ts'
import { DAY_SECONDS } from '../../kernel/durations.ts'
import type { IssueTokens } from './issue.ts'
import type { DeviceSession } from './rows.ts'

/** What the JSON contains instead of a token that a cookie carries. */
const REDACTED = '[redacted]'

/** Whether the caller asked for HTTP-only cookies. The validator has turned the header into a boolean. */
export function wantsCookies(req: Pick<Request, 'headers'>): boolean {
  return String(req.headers['x-svc-use-cookies']) === 'true'
}

type TokenReply = CookieReply & { set(name: string, value: string): unknown }

/** The tokens in the JSON of an answer. */
type TokenAnswer = { accessToken: string; refreshToken: string; expiresAt: string }

/**
 * Issues the tokens of a session and returns them for the JSON of an answer. A caller that asked for cookies gets them
 * in cookies, which this sets on the answer, and the JSON redacted.
 */
export type AnswerTokens = (
  req: Pick<Request, 'headers'>,
  res: TokenReply,
  session: DeviceSession,
) => Promise<TokenAnswer>

type Needs = {
  readonly issueTokens: IssueTokens
  readonly lifetimes: { readonly accessTokenSeconds: number; readonly refreshIdleDays: number }
}

/** Makes the function with which every way to get tokens ends, but OAuth's. */
export function makeAnswerTokens({ issueTokens, lifetimes }: Needs): AnswerTokens {
  return async (req, res, session) => {
    const tokens = await issueTokens(session)
    const expiresAt = tokens.expiresAt.toISOString()
    if (!wantsCookies(req)) {
      return { accessToken: tokens.accessToken.reveal(), refreshToken: tokens.refreshToken.reveal(), expiresAt }
    }
    setCookie(res, 'svc_access', tokens.accessToken, lifetimes.accessTokenSeconds)
    setCookie(res, 'svc_refresh', tokens.refreshToken, lifetimes.refreshIdleDays * DAY_SECONDS)
    return { accessToken: REDACTED, refreshToken: REDACTED, expiresAt }
  }
}

/** Who signed in, on which device, and the tokens. */
export function toTokenSet(
  { email: account, organization, team, deviceId }: DeviceSession,
  tokens: TokenAnswer,
): TokenSet {
  return { account, organization, team, deviceId, ...tokens }
}
