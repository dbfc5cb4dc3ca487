/**
 * A device login: a device starts it and polls, a person approves or denies it.
 *
 *     start (invited, mail accepted)
 *               |                          mail failed -> cancelled
 *            pending --(mail link | link of the start response, by the same account | user code, by the same account)--> approved
 *               |  \--(deny)--> denied
 *               \--(time)--> expired
 *            approved --poll--> approved, device session made once --refresh--> code spent
 *
 * `expired` is not stored: it is `now >= expiresAt`.
 */
import { addSeconds } from '../../kernel/clock.ts'

/** What the rules look at. */
export type DeviceLogin = {
  readonly status: 'pending' | 'approved' | 'denied' | 'cancelled'
  readonly expiresAt: Date
  readonly approvedAt: Date | null
  readonly lastPolledAt: Date | null
  /** The invitation that it was started with is still good. */
  readonly invited: boolean
  /** Of the device session that the first poll made; null before. */
  readonly session: { readonly generation: number; readonly revoked: boolean } | null
}

export type PollVerdict =
  'granted' | 'authorization_pending' | 'rate_limited' | 'expired' | 'access_denied' | 'not_invited' | 'unauthorized'

/** An approval in the last interval must not be lost: this long after it the device can still fetch its tokens. */
const REDEMPTION_SECONDS = 60

/** Clients' timers are a little early; a poll this much too soon still counts. */
export const POLL_TOLERANCE_MS = 500

/** What a poll gets. Approval comes before speed: an approved device must never be kept waiting by its own eagerness. */
export function judgePoll(login: DeviceLogin, intervalSeconds: number, now: Date): PollVerdict {
  if (now >= redeemableUntil(login)) return 'expired'
  if (!login.invited) return 'not_invited'
  if (login.status === 'denied') return 'access_denied'
  if (login.status === 'cancelled') return 'expired'
  if (login.status === 'approved') return judgeRedemption(login)
  return polledTooSoon(login, intervalSeconds, now) ? 'rate_limited' : 'authorization_pending'
}

/** A code is spent once its client has refreshed: that proves that the tokens arrived. */
function judgeRedemption({ session }: DeviceLogin): PollVerdict {
  return session && (session.revoked || session.generation > 0) ? 'unauthorized' : 'granted'
}

function redeemableUntil({ status, expiresAt, approvedAt }: DeviceLogin): Date {
  if (status !== 'approved' || !approvedAt) return expiresAt
  const tail = addSeconds(approvedAt, REDEMPTION_SECONDS)
  return tail > expiresAt ? tail : expiresAt
}

/** A poll that lies in the future was noted before the clock was set back: it must not keep the device waiting until then. */
function polledTooSoon({ lastPolledAt }: DeviceLogin, intervalSeconds: number, now: Date): boolean {
  const sincePollMs = lastPolledAt && Math.abs(now.getTime() - lastPolledAt.getTime())
  return sincePollMs !== null && sincePollMs < intervalSeconds * 1000 - POLL_TOLERANCE_MS
}

/** How long a device that polls too soon should wait, in seconds. */
export function waitSeconds(login: Pick<DeviceLogin, 'lastPolledAt'>, intervalSeconds: number, now: Date): number {
  const sincePollMs = login.lastPolledAt ? now.getTime() - login.lastPolledAt.getTime() : 0
  return Math.max(1, intervalSeconds - Math.max(0, sincePollMs) / 1000)
}

/** The two tokens that name a login by a link: the mail's, which approves, and the start response's, which identifies. */
export type LinkKind = 'mail' | 'handle'

export type LinkVerdict = 'open' | 'used' | 'ended' | 'expired'

/** Whether a link can still decide its login. That it was used is said before that its time is over. */
export function judgeLink(
  login: Pick<DeviceLogin, 'status' | 'expiresAt' | 'invited'> & { usedAt: Date | null },
  now: Date,
): LinkVerdict {
  if (login.usedAt) return 'used'
  if (login.status === 'denied' || login.status === 'cancelled' || !login.invited) return 'ended'
  return now >= login.expiresAt ? 'expired' : 'open'
}

export type CodeVerdict = 'open' | 'approved' | 'denied' | 'expired' | 'not_found'

/** What deciding a login by its user code meets. */
export function judgeCode(login: Pick<DeviceLogin, 'status' | 'expiresAt' | 'invited'>, now: Date): CodeVerdict {
  if (login.status === 'cancelled' || !login.invited) return 'not_found'
  if (login.status !== 'pending') return login.status
  return now >= login.expiresAt ? 'expired' : 'open'
}
