import { ApiError } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toEmail } from '../../kernel/email.ts'
import { fingerprintOf } from '../../kernel/fingerprint.ts'
import { isGenuine, readRefreshToken } from '../../kernel/refresh-token.ts'
import type { RefreshKey } from '../../kernel/refresh-token.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { Logger } from '../../log.ts'
import type { Notify } from '../notify.ts'
import { idleEnd, judgeRefresh } from './rules.ts'
import type { RefreshLifetimes } from './rules.ts'
import type { DeviceSession, DeviceSessionStore } from './store.ts'

/** A session and the generation of the genuine token that names it. */
export type Presented = { readonly session: DeviceSession; readonly generation: number }

/** The session that a refresh token is genuine for, whatever has become of the session; null when there is none. */
export type FindPresented = (token: Secret) => Promise<Presented | null>

export function presentedFinder(
  sessions: DeviceSessionStore,
  findRefreshKey: (keyNumber: number) => RefreshKey | undefined,
): FindPresented {
  return async (token) => {
    const claim = readRefreshToken(token)
    const key = claim && findRefreshKey(claim.keyNumber)
    if (!key) return null
    const session = await sessions.find(claim.sessionId)
    return session && isGenuine(claim, key, session.salt) ? { session, generation: claim.generation } : null
  }
}

/** Who refreshes. */
export type RefreshingClient = { readonly userAgent: string; readonly ip: string }

/**
 * The session after a refresh. `account` is the address that the client named, null when it named none. Throws `unauthorized`, also
 * when the token is a copy that ends its session, and `expired`.
 */
export type RefreshSession = (token: Secret, account: string | null, client: RefreshingClient) => Promise<DeviceSession>

type Needs = {
  readonly sessions: DeviceSessionStore
  readonly findPresented: FindPresented
  readonly lifetimes: RefreshLifetimes & { readonly refreshReplaySeconds: number }
  readonly notify: Notify
  /** Says to this process that a session has ended. */
  readonly onEnd: (sessionId: string) => void
  readonly clock: Clock
  readonly log: Logger
}

export function refreshSession(needs: Needs): RefreshSession {
  const { sessions, findPresented, lifetimes, notify, onEnd, clock, log } = needs

  /** A lost race is judged anew: the winner's answer may be repeated. */
  async function refresh({ session, generation }: Presented, client: RefreshingClient): Promise<DeviceSession> {
    const now = clock.now()
    const fingerprint = fingerprintOf(client.userAgent, client.ip)
    const verdict = judgeRefresh(session, { generation, fingerprint }, lifetimes.refreshReplaySeconds, now)
    if (verdict === 'repeat') return session
    if (verdict === 'reuse') await endFamily(session, now, client.ip)
    if (verdict !== 'rotate') throw new ApiError(verdict === 'expired' ? 'expired' : 'unauthorized')

    const idleExpiresAt = idleEnd(now, lifetimes, session.absoluteExpiresAt)
    const next = { rotatedAt: now, lastSeenAt: now, lastIp: client.ip, idleExpiresAt, clientFingerprint: fingerprint }
    if (await sessions.rotate(session.id, generation, next)) return { ...session, generation: generation + 1 }
    const current = await sessions.find(session.id)
    // The generation has moved or the session has ended, so this does not come here twice.
    if (!current || (current.generation === generation && !current.revoked)) throw new ApiError('unauthorized')
    return refresh({ session: current, generation }, client)
  }

  async function endFamily(session: DeviceSession, now: Date, ip: string): Promise<void> {
    const ended = await sessions.revoke(session.id, 'refresh_reuse', now, ip)
    onEnd(session.id)
    if (!ended) return
    notify.refreshReused(session.email, { at: now, ip, deviceName: session.deviceName })
    log.warn({ sessionId: session.id, accountId: session.accountId }, 'refresh_token.reused')
  }

  return async (token, account, client) => {
    const presented = await findPresented(token)
    if (!presented || (account !== null && toEmail(account) !== presented.session.email))
      throw new ApiError('unauthorized')
    return refresh(presented, client)
  }
}
