import type { Caller, Identify } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { AccessClaims } from './access-token.ts'
import { makeIdentifyVerified } from './verify-once.ts'
import type { VerifyOnce } from './verify-once.ts'

type Needs = {
  readonly verify: VerifyOnce
  /** How long after its expiry a token is accepted while the control plane does not answer. */
  readonly graceMs: number
  /** Whether the control plane does not answer. */
  readonly isControlPlaneAway: () => boolean | Promise<boolean>
  readonly clock: Clock
}

/**
 * Identifies callers by their access tokens alone, for a gateway without a database: a token is valid until it expires,
 * even when its session has ended. Within a grace period after that, it is accepted for local backends while the
 * control plane, which would renew it, does not answer.
 */
export function makeIdentifyByTokenAlone({ verify, graceMs, isControlPlaneAway, clock }: Needs): Identify {
  /** Accepts an expired token only while it cannot be renewed. */
  async function acceptWhileOffline(caller: Caller): Promise<Caller | null> {
    return (await isControlPlaneAway()) ? { ...caller, isOffline: true } : null
  }

  return makeIdentifyVerified(verify, ({ claims, expiresAtMs }) => {
    const lateMs = clock.now().getTime() - expiresAtMs
    if (lateMs < 0) return toCaller(claims)
    return lateMs < graceMs ? acceptWhileOffline(toCaller(claims)) : null
  })
}

function toCaller({ accountId, sessionId, organization, team, role }: AccessClaims): Caller {
  // A token does not contain the time of the sign-in, which model calls do not need.
  return { accountId, sessionId, sessionKind: 'device', organization, team, role, authenticatedAt: null }
}
