import { ApiError } from '../../http/errors.ts'
import { newSalt } from '../../kernel/secret.ts'
import type { NewBrowserSession } from '../browser-session/store.ts'
import type { Notify } from '../notify.ts'
import { absoluteEnd, idleEnd } from './rules.ts'
import type { RefreshLifetimes } from './rules.ts'
import type { DeviceSession, DeviceSessionStore } from './store.ts'

/** What a device signs in with: a login that was approved, or a passkey. */
export type SignIn = {
  /** Null for a passkey. */
  readonly loginId: string | null
  readonly invitationId: string
  readonly accountId: string
  readonly deviceId: string
  readonly deviceName: string
  readonly approvedVia: 'mail' | 'session' | 'user_code' | 'passkey'
  /** The session of the same browser, which begins and ends with the device's. */
  readonly browserSession?: NewBrowserSession
}

/**
 * Signs a device in, which ends what was signed in under the same device id, and tells the account by mail. For a login that has its
 * session already it is that session. Throws `not_invited` or `expired` when the invitation was withdrawn or the login cancelled
 * meanwhile.
 */
export type OpenSession = (signIn: SignIn, ip: string, now: Date) => Promise<DeviceSession>

type Needs = {
  readonly sessions: DeviceSessionStore
  readonly lifetimes: RefreshLifetimes
  readonly notify: Notify
  /** Says to this process that a session has ended. */
  readonly onEnd: (sessionId: string) => void
}

export function openSession({ sessions, lifetimes, notify, onEnd }: Needs): OpenSession {
  return async ({ accountId, approvedVia, browserSession, ...signIn }, ip, now) => {
    const absoluteExpiresAt = absoluteEnd(now, lifetimes)
    const row = {
      ...signIn,
      salt: newSalt(),
      createdAt: now,
      lastSeenAt: now,
      lastIp: ip,
      idleExpiresAt: idleEnd(now, lifetimes, absoluteExpiresAt),
      absoluteExpiresAt,
    }
    const opened = await sessions.open(row, accountId, approvedVia, browserSession ?? null)
    if (typeof opened === 'string') throw new ApiError(opened)
    opened.replaced.forEach(onEnd)
    const { session, isNew } = opened
    if (isNew) notify.deviceSignedIn(session.email, { at: now, ip, approvedVia, ...session })
    return session
  }
}
