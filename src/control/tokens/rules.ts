/**
 * The refresh-token family of a signed-in device. Each refresh moves it one generation on; only the newest token is good. The one
 * before it may be repeated for a short while by the client that used it, because answers get lost. Any other reuse means that
 * two parties hold the family's tokens, so it ends (RFC 9700, section 4.14.2).
 */
import { addSeconds } from '../../kernel/clock.ts'

/** What the rules look at. */
export type DeviceSessionState = {
  readonly generation: number
  readonly rotatedAt: Date | null
  readonly clientFingerprint: string | null
  readonly idleExpiresAt: Date
  readonly absoluteExpiresAt: Date
  readonly revoked: boolean
}

/** `rotate`: move on. `repeat`: the same answer again. `reuse`: end the family. */
export type RefreshVerdict = 'rotate' | 'repeat' | 'reuse' | 'unauthorized' | 'expired'

/** What a genuine token of a generation gets, from a client with this fingerprint. */
export function judgeRefresh(
  session: DeviceSessionState,
  token: { readonly generation: number; readonly fingerprint: string },
  replaySeconds: number,
  now: Date,
): RefreshVerdict {
  if (session.revoked) return 'unauthorized'
  if (now >= session.idleExpiresAt || now >= session.absoluteExpiresAt) return 'expired'
  if (token.generation === session.generation) return 'rotate'
  // Ahead of its session: the database is an older copy. Nobody stole anything.
  if (token.generation > session.generation) return 'unauthorized'
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

const DAY_SECONDS = 86_400

/** How long the family lives without use, and in any case. */
export type RefreshLifetimes = { readonly refreshIdleDays: number; readonly refreshAbsoluteDays: number }

/** When a session that is used now ends without further use; never after its absolute end. */
export function idleEnd(now: Date, { refreshIdleDays }: RefreshLifetimes, absoluteExpiresAt: Date): Date {
  const idle = addSeconds(now, refreshIdleDays * DAY_SECONDS)
  return idle < absoluteExpiresAt ? idle : absoluteExpiresAt
}

export function absoluteEnd(now: Date, { refreshAbsoluteDays }: RefreshLifetimes): Date {
  return addSeconds(now, refreshAbsoluteDays * DAY_SECONDS)
}
