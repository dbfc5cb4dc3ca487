import type { Caller, Identify } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { VerifiedToken } from './access-token.ts'
import type { LiveStates } from './live-states.ts'
import type { VerifyOnce } from './verify-once.ts'

type Needs = {
  readonly verify: VerifyOnce
  /**
   * Finds the caller of a device session; null when the session has ended. Rejects when the database does not answer.
   */
  readonly findDeviceCaller: (sessionId: string) => Promise<Caller | null>
  readonly states: Pick<LiveStates, 'callerOf'>
  readonly clock: Clock
}

/**
 * Identifies the callers of the gateway by access tokens, without a query for each call: they use the last known state
 * of the token's session.
 */
export function makeIdentifyToken({ verify, findDeviceCaller, states, clock }: Needs): Identify {
  function callerOf(verified: VerifiedToken | null): Promise<Caller | null> | Caller | null {
    if (!verified || verified.expiresAtMs <= clock.now().getTime()) return null
    return states.callerOf(verified.claims.sessionId, findDeviceCaller)
  }

  return (token) => {
    const verified = verify(token)
    return verified instanceof Promise ? verified.then(callerOf) : callerOf(verified)
  }
}
