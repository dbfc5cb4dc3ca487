import { setImmediate } from 'node:timers/promises'
import type { Request } from 'express'
import { ApiError } from '../../http/errors.ts'
import { ipOf, userAgentOf } from '../../http/request.ts'
import type { OnCallerEnd } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isGenuine, readRefreshToken } from '../../kernel/credentials/refresh-token.ts'
import type { RefreshKey } from '../../kernel/credentials/refresh-token.ts'
import { toEmail } from '../../kernel/email.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { Logger } from '../../log.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import type { Notify } from '../mails/notify.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { DeviceSession } from './rows.ts'
import { ANOTHER_CLIENT, idleEnd, isClientOf, judgeRefresh } from './rules.ts'
import type { RefreshLifetimes } from './rules.ts'
import type { DeviceSessionStore, ReadDeviceSession } from './store.ts'

/** A session, and the generation of the genuine refresh token that names it. */
export type PresentedToken = { readonly session: ReadDeviceSession; readonly generation: number }

/**
 * Finds the session of a refresh token that came from this IP address, also when that session has ended. Null when the
 * token is not genuine.
 */
export type FindPresentedToken = (token: Secret, ip: string) => Promise<PresentedToken | null>

type FindNeeds = {
  readonly sessions: DeviceSessionStore
  readonly findRefreshKey: (keyNumber: number) => RefreshKey | undefined
  readonly onUnknownCredential: OnUnknownCredential
}

/** Makes the function. It reports the address of a token that is not genuine. */
export function makeFindPresentedToken({
  sessions,
  findRefreshKey,
  onUnknownCredential,
}: FindNeeds): FindPresentedToken {
  async function find(token: Secret): Promise<PresentedToken | null> {
    const claim = readRefreshToken(token)
    const key = claim && findRefreshKey(claim.keyNumber)
    if (!key) return null
    const session = await sessions.find(claim.sessionId)
    return session && isGenuine(claim, key, session.salt) ? { session, generation: claim.generation } : null
  }

  return async (token, ip) => {
    const presented = await find(token)
    if (!presented) onUnknownCredential(ip)
    return presented
  }
}

/** The client that refreshes. */
export type RefreshingClient = {
  readonly userAgent: string
  readonly ip: string
  /** Null when it does not name itself. */
  readonly clientId: string | null
  /** Whether it has closed its connection. */
  readonly hasLeft: () => Promise<boolean>
}

/** The client that has sent a request. */
export function refreshingClientOf(
  req: Pick<Request, 'headers' | 'ip' | 'socket'>,
  clientId: string | null,
): RefreshingClient {
  const hasLeft = async () => {
    // The event loop may read the end of the connection only after the answer of the database that led here.
    await setImmediate()
    return req.socket.destroyed || req.socket.readableEnded
  }
  return { userAgent: userAgentOf(req), ip: ipOf(req), clientId, hasLeft }
}

/**
 * Refreshes a session and returns it as it is afterwards. `account` is the address that the client named, or null.
 * Throws `unauthorized`, also when the token is a copy that ends its session, and `expired`.
 */
export type RefreshSession = (token: Secret, account: string | null, client: RefreshingClient) => Promise<DeviceSession>

type Needs = {
  readonly sessions: DeviceSessionStore
  readonly findPresentedToken: FindPresentedToken
  readonly lifetimes: RefreshLifetimes & { readonly refreshReplaySeconds: number }
  readonly notify: Notify
  readonly onCallerEnd: OnCallerEnd
  readonly clock: Clock
  readonly log: Logger
}

/** The same words for every token that is not good, so that they do not say whether it ever was. */
const REFUSED = { message: 'The refresh token is unknown, already used or revoked. Sign in again.' }
const EXPIRED = { message: 'The refresh token has expired. Sign in again.' }

/** Makes the function that both refresh operations share. */
export function makeRefreshSession(needs: Needs): RefreshSession {
  const { sessions, findPresentedToken, lifetimes, notify, onCallerEnd, clock, log } = needs

  async function refresh({ session, generation }: PresentedToken, client: RefreshingClient): Promise<DeviceSession> {
    const now = clock.now()
    const fingerprint = fingerprintOf(client.userAgent, client.ip)
    const verdict = judgeRefresh(session, { generation, fingerprint }, lifetimes.refreshReplaySeconds, now)
    if (verdict === 'repeat') return session
    if (verdict === 'reuse') await endFamily(session, now, client.ip)
    if (verdict === 'ahead') logRestored(session, generation)
    if (verdict === 'expired') throw new ApiError('expired', EXPIRED)
    if (verdict !== 'rotate') throw new ApiError('unauthorized', REFUSED)

    // A process that was frozen or overloaded may read a request long after its client gave up. The client keeps its
    // token then, and would repeat its refresh too late.
    if (await client.hasLeft()) throw new ApiError('service_unavailable')
    const idleExpiresAt = idleEnd(now, lifetimes, session.absoluteExpiresAt)
    const next = { rotatedAt: now, ip: client.ip, idleExpiresAt, fingerprint }
    if (await sessions.rotate(session, next)) return { ...session, generation: generation + 1 }

    // Another refresh was faster. Judge again by the new state: the winner's answer may be repeated.
    const current = await sessions.find(session.id)
    if (!current) throw new ApiError('unauthorized', REFUSED)
    // The session was read too long ago. Otherwise it has moved or ended, so this recursion ends.
    if (current.generation === generation && !current.revoked) throw new ApiError('service_unavailable')
    return refresh({ session: current, generation }, client)
  }

  async function endFamily(session: DeviceSession, now: Date, ip: string): Promise<void> {
    const ended = await sessions.revoke(session.id, 'refresh_reuse', now, ip)
    onCallerEnd(session.id)
    if (!ended) return
    notify.refreshReused(session.email, { at: now, ip, deviceName: session.deviceName })
    log.warn({ sessionId: session.id, accountId: session.accountId }, 'refresh_token.reused')
  }

  /** Tells the operator why a device that did nothing wrong has to sign in again. */
  function logRestored({ id, accountId, generation }: DeviceSession, tokenGeneration: number): void {
    log.warn({ sessionId: id, accountId, generation, tokenGeneration }, 'refresh_token.ahead_of_session')
  }

  return async (token, account, client) => {
    const presented = await findPresentedToken(token, client.ip)
    if (!presented || (account !== null && toEmail(account) !== presented.session.email))
      throw new ApiError('unauthorized', REFUSED)
    if (!isClientOf(presented.session, client.clientId)) throw new ApiError('unauthorized', { message: ANOTHER_CLIENT })
    return refresh(presented, client)
  }
}
