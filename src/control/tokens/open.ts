import { ApiError } from '../../http/errors.ts'
import type { OnCallerEnd } from '../../kernel/caller.ts'
import { newRowId } from '../../kernel/identifier.ts'
import { newSalt } from '../../kernel/secret.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import type { Notify } from '../mails/notify.ts'
import type { DeviceSession } from './rows.ts'
import { absoluteEnd, idleEnd } from './rules.ts'
import type { ApprovedVia, RefreshLifetimes } from './rules.ts'
import type { SignedInDevice } from './save-session.ts'
import type { DeviceSessionStore } from './store.ts'

/** A sign-in that has been checked. */
export type SignIn = SignedInDevice & {
  readonly approvedVia: ApprovedVia
  /** The session of the same browser, which begins and ends with the device session. */
  readonly browser?: SignedInBrowser
}

/**
 * Signs a device in and returns its session. Before that, a session of the same account and device id ends, and where
 * there are more than `MAX_DEVICES` the one that was seen longest ago. A login has one session, however often it is
 * opened. The account is told by email, once per session and in the background. When the process that made the session
 * stopped before the rest was done, the next poll does it. Throws `not_invited` when the invitation was withdrawn,
 * `expired` when the login was cancelled, and `unauthorized` when the passkey was removed.
 */
export type OpenSession = (signIn: SignIn, ip: string, now: Date) => Promise<DeviceSession>

type Needs = {
  readonly sessions: DeviceSessionStore
  readonly lifetimes: RefreshLifetimes
  readonly notify: Notify
  readonly onCallerEnd: OnCallerEnd
}

/** Makes the function that every way to sign in ends with. */
export function makeOpenSession({ sessions, lifetimes, notify, onCallerEnd }: Needs): OpenSession {
  return async ({ approvedVia, browser, ...signIn }, ip, now) => {
    const absoluteExpiresAt = absoluteEnd(now, lifetimes)
    const row = {
      ...signIn,
      id: newRowId(now),
      salt: newSalt(),
      createdAt: now,
      lastIp: ip,
      idleExpiresAt: idleEnd(now, lifetimes, absoluteExpiresAt),
      absoluteExpiresAt,
    }
    const session = await sessions.open(row, approvedVia, browser ?? null)
    if (typeof session === 'string') throw new ApiError(session)
    if (session.isComplete) return session
    // After the session is committed: a process that stops in between leaves this to the next poll. Before the answer:
    // when a device gets its tokens, the sessions that it replaces have ended, and the owner is about to get an email.
    const { claimedNotice, replaced } = await sessions.complete(session.id, now, ip)
    replaced.forEach(onCallerEnd)
    if (claimedNotice) notify.deviceSignedIn(session.email, { at: now, ip, approvedVia, ...session })
    return session
  }
}
