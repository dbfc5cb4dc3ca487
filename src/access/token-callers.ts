import { hash } from 'node:crypto'
import { putNewest } from '../kernel/bounded-map.ts'
import type { Caller, Identify } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Secret } from '../kernel/secret.ts'
import { verifyIgnoringExpiry } from './access-token.ts'
import type { AccessClaims, FindPublicKey } from './access-token.ts'
import { makeExplainToken } from './explain-token.ts'

type Needs = {
  readonly issuer: string
  readonly findPublicKey: FindPublicKey
  /** How long after its expiry a token is accepted while the control plane does not answer. */
  readonly graceMs: number
  /** Whether the control plane does not answer. */
  readonly isControlPlaneAway: () => boolean | Promise<boolean>
  readonly clock: Clock
}

type Verified = { readonly caller: Caller; readonly expiresAtMs: number }

const MAX_TOKENS = 20_000

/**
 * Identifies callers by their access tokens alone, for a gateway without a database: a token is valid until it expires,
 * even when its session has ended. Within a grace period after that, it is accepted for local backends while the
 * control plane, which would renew it, does not answer. Each token is verified once.
 */
export function makeTokenCallers({ issuer, findPublicKey, graceMs, isControlPlaneAway, clock }: Needs) {
  const verified = new Map<string, Verified>()

  async function verify(token: Secret, key: string): Promise<Caller | null> {
    // The expiry is judged here, because a verified token is judged again at each call.
    const found = await verifyIgnoringExpiry(token, issuer, findPublicKey)
    if (!found) return null
    const known = { caller: toCaller(found.claims), expiresAtMs: found.expiresAtMs }
    putNewest(verified, key, known, MAX_TOKENS)
    return judge(known)
  }

  function judge(known: Verified): Promise<Caller | null> | Caller | null {
    const lateMs = msSinceExpiry(known)
    if (lateMs < 0) return known.caller
    return lateMs < graceMs ? acceptWhileOffline(known.caller) : null
  }

  /** Accepts an expired token only while it cannot be renewed. */
  async function acceptWhileOffline(caller: Caller): Promise<Caller | null> {
    return (await isControlPlaneAway()) ? { ...caller, isOffline: true } : null
  }

  function msSinceExpiry({ expiresAtMs }: Verified): number {
    return clock.now().getTime() - expiresAtMs
  }

  const identify: Identify = (token) => {
    const key = hash('sha256', token.reveal(), 'base64')
    const known = verified.get(key)
    if (!known) return verify(token, key)
    if (msSinceExpiry(known) >= graceMs) verified.delete(key)
    return judge(known)
  }
  return { identify, explainToken: makeExplainToken({ issuer, findPublicKey, clock }) }
}

function toCaller({ accountId, sessionId, organization, team, role }: AccessClaims): Caller {
  // A token contains neither its invitation nor the time of the sign-in, which model calls do not need.
  return {
    accountId,
    invitationId: '',
    sessionId,
    sessionKind: 'device',
    organization,
    team,
    role,
    authenticatedAt: null,
  }
}
