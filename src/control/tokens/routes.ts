import type { Request } from 'express'
import { bearerOf } from '../../http/authenticate.ts'
import { clearCookies, cookieOf } from '../../http/cookies.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { ipOf } from '../../http/request.ts'
import type { FindPublicKey } from '../../kernel/access-token.ts'
import { verifyEndedToken } from '../../kernel/access-token.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toEmail } from '../../kernel/email.ts'
import { fingerprintOf } from '../../kernel/fingerprint.ts'
import { isGenuine, readRefreshToken } from '../../kernel/refresh-token.ts'
import type { RefreshKey } from '../../kernel/refresh-token.ts'
import { hashSecret, Secret } from '../../kernel/secret.ts'
import type { Logger } from '../../log.ts'
import type { BrowserSessionStore } from '../browser-session/store.ts'
import { answerTokens, wantsCookies } from './answer.ts'
import type { IssueTokens } from './issue.ts'
import { idleEnd, judgeRefresh } from './rules.ts'
import type { RefreshLifetimes } from './rules.ts'
import type { DeviceSession, DeviceSessionStore } from './store.ts'

type Needs = {
  readonly sessions: DeviceSessionStore
  readonly browserSessions: BrowserSessionStore
  readonly issueTokens: IssueTokens
  readonly keys: { findRefreshKey(keyNumber: number): RefreshKey | undefined; findPublicKey: FindPublicKey }
  readonly lifetimes: RefreshLifetimes & { readonly accessTokenSeconds: number; readonly refreshReplaySeconds: number }
  readonly issuer: string
  readonly secure: boolean
  /** Says to this process that a session has ended. */
  readonly onEnd: (sessionId: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/** A session and the generation of the genuine token that names it. */
type Presented = { readonly session: DeviceSession; readonly generation: number }

export function tokenRoutes(needs: Needs): Handlers<'refreshTokens' | 'logout'> {
  const { sessions, browserSessions, issueTokens, keys, lifetimes, secure, clock, log } = needs

  /** The session that a refresh token is genuine for, whatever has become of the session. */
  async function findPresented(token: Secret): Promise<Presented | null> {
    const claim = readRefreshToken(token)
    const key = claim && keys.findRefreshKey(claim.keyNumber)
    if (!key) return null
    const session = await sessions.find(claim.sessionId)
    return session && isGenuine(claim, key, session.salt) ? { session, generation: claim.generation } : null
  }

  /** The session after a refresh; throws the refusal. A lost race is judged anew: the winner's answer may be repeated. */
  async function refresh(
    { session, generation }: Presented,
    req: Pick<Request, 'headers' | 'ip'>,
  ): Promise<DeviceSession> {
    const now = clock.now()
    const fingerprint = fingerprintOf(String(req.headers['user-agent']), ipOf(req))
    const verdict = judgeRefresh(session, { generation, fingerprint }, lifetimes.refreshReplaySeconds, now)
    if (verdict === 'repeat') return session
    if (verdict === 'reuse') await endFamily(session, now, ipOf(req))
    if (verdict !== 'rotate') throw new ApiError(verdict === 'expired' ? 'expired' : 'unauthorized')

    const idleExpiresAt = idleEnd(now, lifetimes, session.absoluteExpiresAt)
    const next = { rotatedAt: now, lastSeenAt: now, lastIp: ipOf(req), idleExpiresAt, clientFingerprint: fingerprint }
    if (await sessions.rotate(session.id, generation, next)) return { ...session, generation: generation + 1 }
    const current = await sessions.find(session.id)
    // The generation has moved or the session has ended, so this does not come here twice.
    if (!current || (current.generation === generation && !current.revoked)) throw new ApiError('unauthorized')
    return refresh({ session: current, generation }, req)
  }

  async function endFamily(session: DeviceSession, now: Date, ip: string): Promise<void> {
    await sessions.revoke(session.id, 'refresh_reuse', now, ip)
    needs.onEnd(session.id)
    log.warn({ sessionId: session.id, accountId: session.accountId }, 'refresh_token.reused')
  }

  return {
    async refreshTokens(req, res) {
      const token = req.body?.refreshToken ?? (wantsCookies(req) ? cookieOf(req, 'svc_refresh') : undefined)
      if (!token) throw new ApiError('unauthorized', { message: 'The refresh token is missing.' })
      const presented = await findPresented(new Secret(token))
      if (!presented || (req.body && toEmail(req.body.account) !== presented.session.email))
        throw new ApiError('unauthorized')

      const session = await refresh(presented, req)
      const tokens = await issueTokens(session, clock.now())
      res.status(200).json({
        account: session.email,
        team: session.team,
        deviceId: session.deviceId,
        ...answerTokens(req, res, tokens, { lifetimes, secure }),
      })
    },

    async logout(req, res) {
      const now = clock.now()
      const bearer = bearerOf(req) ?? cookieOf(req, 'svc_access')
      const verified = bearer && (await verifyEndedToken(new Secret(bearer), needs.issuer, keys.findPublicKey))
      const refreshCookie = cookieOf(req, 'svc_refresh')
      const presented = refreshCookie ? await findPresented(new Secret(refreshCookie)) : null
      for (const sessionId of new Set([verified && verified.claims.sessionId, presented?.session.id])) {
        if (!sessionId) continue
        await sessions.revoke(sessionId, 'logout', now, ipOf(req))
        needs.onEnd(sessionId)
      }
      const browser = cookieOf(req, 'svc_session')
      if (browser) await browserSessions.revoke(hashSecret(new Secret(browser)), 'logout', now)
      clearCookies(res, secure)
      res.status(200).json({ ok: true })
    },
  }
}
