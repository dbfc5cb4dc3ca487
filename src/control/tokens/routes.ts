import type { Request } from 'express'
import { clearCookies, cookieOf } from '../../http/cookies.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Secret } from '../../kernel/secret.ts'
import { wantsCookies } from './answer.ts'
import type { AnswerTokens } from './answer.ts'
import { refreshingClientOf } from './refresh.ts'
import type { RefreshSession } from './refresh.ts'
import type { SignOut } from './sign-out.ts'

type Needs = {
  readonly refreshSession: RefreshSession
  readonly answerTokens: AnswerTokens
  readonly signOut: SignOut
  readonly secure: boolean
  readonly clock: Clock
}

/** The operations that refresh tokens and sign the caller out. */
export function makeTokenHandlers({
  refreshSession,
  answerTokens,
  signOut,
  secure,
  clock,
}: Needs): Handlers<'refreshTokens' | 'logout'> {
  return {
    async refreshTokens(req, res) {
      const token = req.body?.refreshToken ?? (wantsCookies(req) ? cookieOf(req, 'svc_refresh') : undefined)
      if (!token) throw new ApiError('unauthorized', { message: 'The refresh token is missing.' })
      const session = await refreshSession(new Secret(token), req.body?.account ?? null, refreshingClientOf(req, null))
      const { email: account, team, deviceId } = session
      res.status(200).json({ account, team, deviceId, ...(await answerTokens(req, res, session)) })
    },

    async logout(req, res) {
      // The request as Express types it: what sign-out reads is the same for every operation.
      await signOut.here(req as unknown as Request, clock.now())
      clearCookies(res, secure)
      res.status(200).json({ ok: true })
    },
  }
}
