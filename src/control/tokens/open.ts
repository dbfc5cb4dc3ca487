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
 * session already it is that session, and the mail is sent if the one who made it was lost before that. One mail a session: it is not
 * waited for, and one that is not accepted is not sent again. Throws `not_invited` or `expired` when the invitation was withdrawn or
 * the login cancelled meanwhile.
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
    const { session, isNew, tells } = opened
    // Not in the transaction that makes the session: whoever is lost right after that leaves the notice to the next poll. And not after
    // the answer: nobody has tokens of a device before somebody has taken it upon them to tell its owner.
    if (tells || (isNew && (await sessions.takeNotice(session.id, now))))
      notify.deviceSignedIn(session.email, { at: now, ip, approvedVia, ...session })
    return session
  }
}
