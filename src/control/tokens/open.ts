import { ApiError } from '../../http/errors.ts'
import { newRowId } from '../../kernel/identifier.ts'
import { newSalt } from '../../kernel/secret.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import type { Notify } from '../notify.ts'
import type { DeviceSession } from './rows.ts'
import { absoluteEnd, idleEnd } from './rules.ts'
import type { ApprovedVia, RefreshLifetimes } from './rules.ts'
import type { SignedInDevice } from './signed-in-device.ts'
import type { DeviceSessionStore } from './store.ts'

/** A sign-in that has been checked. */
export type SignIn = SignedInDevice & {
  readonly approvedVia: ApprovedVia
  /** The session of the same browser, which begins and ends with the device session. */
  readonly browser?: SignedInBrowser
}

/**
 * Signs a device in and returns its session. A session of the same account and device id is replaced. A login has one
 * session, however often it is opened. The account is told by email, once per session and in the background; when the
 * process that made the session stopped before the notice was taken, the next poll sends it. Throws `not_invited` when
 * the invitation was withdrawn, and `expired` when the login was cancelled.
 */
export type OpenSession = (signIn: SignIn, ip: string, now: Date) => Promise<DeviceSession>

type Needs = {
  readonly sessions: DeviceSessionStore
  readonly lifetimes: RefreshLifetimes
  readonly notify: Notify
  readonly onSessionEnd: (sessionId: string) => void
}

/** Makes the function that every way to sign in ends with. */
export function makeOpenSession({ sessions, lifetimes, notify, onSessionEnd }: Needs): OpenSession {
  return async ({ approvedVia, browser, ...signIn }, ip, now) => {
    const absoluteExpiresAt = absoluteEnd(now, lifetimes)
    const row = {
      ...signIn,
      id: newRowId(now),
      salt: newSalt(),
      createdAt: now,
      lastSeenAt: now,
      lastIp: ip,
      idleExpiresAt: idleEnd(now, lifetimes, absoluteExpiresAt),
      absoluteExpiresAt,
    }
    const opened = await sessions.open(row, approvedVia, browser ?? null)
    if (typeof opened === 'string') throw new ApiError(opened)
    opened.replaced.forEach(onSessionEnd)
    const { session, isNew, tookNotice } = opened
    // The notice is taken after the session is committed: a process that stops in between leaves it to the next poll.
    // It is taken before the answer: when a device gets its tokens, a process is about to email the owner.
    if (tookNotice || (isNew && (await sessions.takeNotice(session.id, now))))
      notify.deviceSignedIn(session.email, { at: now, ip, approvedVia, ...session })
    return session
  }
}
