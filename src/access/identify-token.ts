import { hash } from 'node:crypto'
import { putNewest } from '../kernel/bounded-map.ts'
import type { Caller, Identify } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Secret } from '../kernel/secret.ts'
import { verifyAccessToken } from './access-token.ts'
import type { FindPublicKey, VerifiedToken } from './access-token.ts'
import type { LiveStates } from './live-states.ts'

type Needs = {
  readonly issuer: string
  readonly findPublicKey: FindPublicKey
  /**
   * Finds the caller of a device session; null when the session has ended. Rejects when the database does not answer.
   */
  readonly findDeviceCaller: (sessionId: string) => Promise<Caller | null>
  readonly states: Pick<LiveStates, 'callerOf'>
  readonly clock: Clock
}

const MAX_TOKENS = 20_000

/**
 * Identifies the callers of the gateway without a query for each call. A token is verified once. After that, calls use
 * the last known state of its session.
 */
export function makeIdentifyToken({ issuer, findPublicKey, findDeviceCaller, states, clock }: Needs): Identify {
  const tokens = new Map<string, VerifiedToken>()

  async function verify(token: Secret, key: string): Promise<VerifiedToken | null> {
    const verified = await verifyAccessToken(token, issuer, findPublicKey, clock.now())
    if (verified) putNewest(tokens, key, verified, MAX_TOKENS)
    return verified
  }

  const callerOf = ({ claims }: VerifiedToken) => states.callerOf(claims.sessionId, findDeviceCaller)

  return (token) => {
    const key = hash('sha256', token.reveal(), 'base64')
    const verified = tokens.get(key)
    if (!verified) return verify(token, key).then((fresh) => fresh && callerOf(fresh))
    if (verified.expiresAtMs > clock.now().getTime()) return callerOf(verified)
    tokens.delete(key)
    return null
  }
}
