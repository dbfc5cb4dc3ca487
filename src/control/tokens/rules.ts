/**
 * The refresh tokens of a signed-in device form a family: each refresh moves the family one generation on, and only the
 * newest token is good. The previous token may be repeated for a short time by the client that used it, because answers
 * get lost on the network. Any other reuse means that two parties hold tokens of the family, so the whole session ends
 * (RFC 9700, section 4.14.2).
 *
 *     opened --refresh--> generation 1 --refresh--> generation 2 ...
 *        \---------------------\---------------------\--(sign-out, reuse, withdrawal, replacement)--> revoked
 *         \---------------------\---------------------\--(idle end, absolute end)--> expired
 *
 * `expired` is not stored: a session is expired when `now` has reached one of its two ends.
 */
import { addSeconds } from '../../kernel/clock.ts'
import { DAY_SECONDS } from '../../kernel/durations.ts'

/** How a sign-in was approved: by an email's link, in a session of the account, by the user code, or by a passkey. */
export type ApprovedVia = 'mail' | 'session' | 'user_code' | 'passkey'

/** The part of a device session that the rules read. */
export type DeviceSessionState = {
  readonly generation: number
  readonly rotatedAt: Date | null
  /** Identifies the client that rotated last. */
  readonly clientFingerprint: string | null
  readonly idleExpiresAt: Date
  readonly absoluteExpiresAt: Date
  readonly revoked: boolean
}

/**
 * `rotate`: move to the next generation. `repeat`: give the same answer again. `reuse`: end the session. `ahead`:
 * refuse, because the database is an older copy than the token.
 */
export type RefreshVerdict = 'rotate' | 'repeat' | 'reuse' | 'ahead' | 'unauthorized' | 'expired'

/** Decides what a genuine refresh token gets. `replaySeconds` is how long a lost answer may be repeated. */
export function judgeRefresh(
  session: DeviceSessionState,
  token: { readonly generation: number; readonly fingerprint: string },
  replaySeconds: number,
  now: Date,
): RefreshVerdict {
  if (session.revoked) return 'unauthorized'
  if (now >= session.idleExpiresAt || now >= session.absoluteExpiresAt) return 'expired'
  if (token.generation === session.generation) return 'rotate'
  // It is no sign of theft, so the session lives on: its device has to sign in again, and others of the account are not
  // affected.
  if (token.generation > session.generation) return 'ahead'
  return isLostAnswer(session, token, replaySeconds, now) ? 'repeat' : 'reuse'
}

function isLostAnswer(
  { generation, rotatedAt, clientFingerprint }: DeviceSessionState,
  token: { readonly generation: number; readonly fingerprint: string },
  replaySeconds: number,
  now: Date,
): boolean {
  return (
    token.generation === generation - 1 &&
    rotatedAt !== null &&
    now <= addSeconds(rotatedAt, replaySeconds) &&
    clientFingerprint === token.fingerprint
  )
}

/**
 * Whether a client may use what another request began (RFC 6749, sections 5.2 and 6; RFC 8628, section 3.5). Where one
 * of the two has not named itself, there is nothing to compare.
 */
export function isClientOf({ clientId }: { readonly clientId: string | null }, presented: string | null): boolean {
  return clientId === null || presented === null || clientId === presented
}

export const ANOTHER_CLIENT = 'This was issued to another client. Send the client_id that started the login.'

/** How long a session lives without use, and at most. */
export type RefreshLifetimes = { readonly refreshIdleDays: number; readonly refreshAbsoluteDays: number }

/** The idle end of a session that is used now; never after its absolute end. */
export function idleEnd(now: Date, { refreshIdleDays }: RefreshLifetimes, absoluteExpiresAt: Date): Date {
  const idle = addSeconds(now, refreshIdleDays * DAY_SECONDS)
  return idle < absoluteExpiresAt ? idle : absoluteExpiresAt
}

/** The absolute end of a session that is opened now. */
export function absoluteEnd(now: Date, { refreshAbsoluteDays }: RefreshLifetimes): Date {
  return addSeconds(now, refreshAbsoluteDays * DAY_SECONDS)
}
