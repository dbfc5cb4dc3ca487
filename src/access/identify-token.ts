import type { Caller, Identify } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { LiveStates } from './live-states.ts'
import { makeIdentifyVerified } from './verify-once.ts'
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
  return makeIdentifyVerified(verify, ({ claims, expiresAtMs }) => {
    return expiresAtMs > clock.now().getTime() ? states.callerOf(claims.sessionId, findDeviceCaller) : null
  })
}
