/**
 * A device login: a device starts it and polls, a person approves or denies it (RFC 8628).
 *
 *     start (invited, email accepted)
 *               |                          email failed -> cancelled
 *            pending --(approve)--> approved --poll--> approved, device session made once --refresh--> code spent
 *               |  \--(deny)--> denied
 *               \--(time)--> expired
 *
 * A person approves or denies by the link of the email; or, signed in to the same account, by the link of the start
 * response or by the user code. `expired` is not stored: a login is expired when `now >= expiresAt`.
 */
import { addSeconds, msBetween } from '../../kernel/clock.ts'

/** The part of a login that the rules read. */
export type DeviceLogin = {
  readonly status: 'pending' | 'approved' | 'denied' | 'cancelled'
  readonly expiresAt: Date
  readonly approvedAt: Date | null
  readonly lastPolledAt: Date | null
  /** Whether the invitation that it was started with is in force. */
  readonly invited: boolean
  /** The device session that the first poll made; null before. */
  readonly session: { readonly generation: number; readonly revoked: boolean } | null
}

export type PollVerdict =
  'granted' | 'authorization_pending' | 'rate_limited' | 'expired' | 'access_denied' | 'not_invited' | 'unauthorized'

/**
 * How long after its approval a login can still be redeemed, so that an approval in the last poll interval is not lost.
 */
export const REDEMPTION_SECONDS = 60

/** A poll that is early by this much still counts, because timers of clients are a little early. */
export const POLL_TOLERANCE_MS = 500

/** Decides what a poll gets. Approval is checked before the poll rate: an approved device must get its tokens. */
export function judgePoll(login: DeviceLogin, intervalSeconds: number, now: Date): PollVerdict {
  if (now >= redeemableUntil(login)) return 'expired'
  if (!login.invited) return 'not_invited'
  if (login.status === 'denied') return 'access_denied'
  if (login.status === 'cancelled') return 'expired'
  if (login.status === 'approved') return judgeRedemption(login)
  return polledTooSoon(login, intervalSeconds, now) ? 'rate_limited' : 'authorization_pending'
}

/** A device code is spent once the client has refreshed, because that proves that the client received its tokens. */
function judgeRedemption({ session }: DeviceLogin): PollVerdict {
  return session && (session.revoked || session.generation > 0) ? 'unauthorized' : 'granted'
}

function redeemableUntil({ status, expiresAt, approvedAt }: DeviceLogin): Date {
  if (status !== 'approved' || !approvedAt) return expiresAt
  const tail = addSeconds(approvedAt, REDEMPTION_SECONDS)
  return tail > expiresAt ? tail : expiresAt
}

/** A poll in the future was saved before the clock was set back. It must not block the device until that time comes. */
function polledTooSoon({ lastPolledAt }: DeviceLogin, intervalSeconds: number, now: Date): boolean {
  const sincePollMs = lastPolledAt && Math.abs(now.getTime() - lastPolledAt.getTime())
  return sincePollMs !== null && sincePollMs < intervalSeconds * 1000 - POLL_TOLERANCE_MS
}

/** How long a device that polls too soon should wait, in seconds: at least 1, at most the interval. */
export function waitSeconds(lastPolledAt: Date, intervalSeconds: number, now: Date): number {
  return Math.max(1, intervalSeconds - msBetween(lastPolledAt, now) / 1000)
}
