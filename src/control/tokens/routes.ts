import { clearCookies, cookieOf } from '../../http/cookies.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { sendPage } from '../../http/page.ts'
import { asExpress, wantsPage } from '../../http/request.ts'
import { Secret } from '../../kernel/secret.ts'
import { signedOutPage } from '../pages/answer-pages.ts'
import { wantsCookies } from './answer.ts'
import type { AnswerTokens } from './answer.ts'
import { refreshingClientOf } from './refresh.ts'
import type { RefreshSession } from './refresh.ts'
import type { SignOut } from './sign-out.ts'

type Needs = {
  readonly refreshSession: RefreshSession
  readonly answerTokens: AnswerTokens
  readonly signOut: SignOut
}

/** The operations that refresh tokens and sign the caller out. */
export function makeTokenHandlers({
  refreshSession,
  answerTokens,
  signOut,
}: Needs): Handlers<'refreshTokens' | 'logout'> {
  return {
    async refreshTokens(req, res) {
      const token = req.body?.refreshToken ?? (wantsCookies(req) ? cookieOf(req, 'svc_refresh') : undefined)
      if (!token) throw new ApiError('unauthorized', { message: 'The refresh token is missing.' })
      const session = await refreshSession(new Secret(token), req.body?.account ?? null, refreshingClientOf(req, null))
      const { email: account, team, deviceId } = session
      res.status(200).json({ account, team, deviceId, ...(await answerTokens(req, res, session)) })
    },

    async logout(request, response) {
      const [req, res] = asExpress(request, response)
      await signOut.here(req)
      clearCookies(res)
      if (wantsPage(req)) return sendPage(res, 200, signedOutPage({ everywhere: false }))
      response.status(200).json({ ok: true })
    },
  }
}
