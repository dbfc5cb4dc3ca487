/**
 * An API key is a long-lived credential for programs that cannot refresh tokens. It belongs to a person's membership of
 * a team, or to a service account. It is valid for model calls, and for the gateway's lists of models, workers and
 * spending limits.
 *
 *     working --(rotate)--> replaced --(end of the overlap)--> expired
 *        |  \--(time)--> expired
 *        \--(revoke; withdrawal, deletion of the service account)--> revoked
 *
 * A replaced key still works. `expired` is not stored: it follows from the end of the key.
 */
import { addSeconds } from '../../kernel/clock.ts'
import { DAY_SECONDS } from '../../kernel/durations.ts'

/** How many keys of a person or a service account can work at the same time. */
export const MAX_KEYS = 50

const DEFAULT_DAYS = 90
const DEFAULT_OVERLAP_SECONDS = DAY_SECONDS

/** The part of a key that the rules read. */
export type KeyState = {
  readonly expiresAt: Date
  readonly revokedAt: Date | null
  readonly replacedById: string | null
}

/** When a key that is made now expires. */
export function expiryOf(now: Date, days = DEFAULT_DAYS): Date {
  return addSeconds(now, days * DAY_SECONDS)
}

/** Whether a key can be used. */
export function isWorking({ expiresAt, revokedAt }: Omit<KeyState, 'replacedById'>, now: Date): boolean {
  return revokedAt === null && now < expiresAt
}

export type RotationVerdict = 'rotate' | 'not_found' | 'rotated_before' | 'too_many'

/**
 * Decides whether a key can be rotated. `working` counts all working keys of its owner. A key that ends at once makes
 * room for its successor.
 */
export function judgeRotation(key: KeyState, working: number, oldEndsAt: Date, now: Date): RotationVerdict {
  if (!isWorking(key, now)) return 'not_found'
  if (key.replacedById !== null) return 'rotated_before'
  const remaining = oldEndsAt <= now ? working - 1 : working
  return remaining < MAX_KEYS ? 'rotate' : 'too_many'
}

/** When a key that is rotated now stops working: at the end of the overlap, and never later than before. */
export function endOfOverlap({ expiresAt }: KeyState, now: Date, overlapSeconds = DEFAULT_OVERLAP_SECONDS): Date {
  const end = addSeconds(now, overlapSeconds)
  return end < expiresAt ? end : expiresAt
}

/** The wanted models that the team does not have. */
export function findUnknownModels(wanted: readonly string[], ofTeam: readonly string[]): string[] {
  return wanted.filter((id) => !ofTeam.includes(id))
}
