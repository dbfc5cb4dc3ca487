import { hash } from 'node:crypto'
import { verifyAccessToken } from './access-token.ts'
import type { AccessClaims, FindPublicKey } from './access-token.ts'
import type { Caller } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Secret } from '../kernel/secret.ts'

type Needs = { readonly issuer: string; readonly findPublicKey: FindPublicKey; readonly clock: Clock }

type Known = { readonly caller: Caller; readonly expiresAtMs: number }

const MOST_TOKENS = 20_000

/**
 * Knows callers by their access tokens alone, for a gateway without a database: what the token says counts until it ends, whatever has
 * become of its session. A token is verified once. Rejects with what `findPublicKey` rejects with.
 */
export function tokenCallers({ issuer, findPublicKey, clock }: Needs) {
  const known = new Map<string, Known>()

  async function verify(token: Secret, key: string): Promise<Caller | null> {
    const verified = await verifyAccessToken(token, issuer, findPublicKey, clock.now())
    if (!verified) return null
    const caller = toCaller(verified.claims)
    known.set(key, { caller, expiresAtMs: verified.expiresAtMs })
    const oldest = known.size > MOST_TOKENS ? known.keys().next().value : undefined
    if (oldest !== undefined) known.delete(oldest)
    return caller
  }

  return {
    /** Who a bearer token belongs to; null when it is not good. */
    identify(token: Secret): Promise<Caller | null> | Caller | null {
      const key = hash('sha256', token.reveal(), 'base64')
      const one = known.get(key)
      if (!one) return verify(token, key)
      if (one.expiresAtMs > clock.now().getTime()) return one.caller
      known.delete(key)
      return null
    },
  }
}

function toCaller({ accountId, sessionId, organization, team, role }: AccessClaims): Caller {
  // A token does not say which invitation it is of, nor how its session began; no model call asks.
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
