import { hash } from 'node:crypto'
import type { Caller } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Secret } from '../kernel/secret.ts'
import { verifyAccessToken } from './access-token.ts'
import type { AccessClaims, FindPublicKey } from './access-token.ts'
import { putNewest } from '../kernel/bounded-map.ts'
import { makeExplainToken } from './explain-token.ts'

type Needs = { readonly issuer: string; readonly findPublicKey: FindPublicKey; readonly clock: Clock }

type Verified = { readonly caller: Caller; readonly expiresAtMs: number }

const MAX_TOKENS = 20_000

/**
 * Identifies callers by their access tokens alone, for a gateway without a database: a token is valid until it expires,
 * even when its session has ended. Each token is verified once.
 */
export function tokenCallers({ issuer, findPublicKey, clock }: Needs) {
  const verified = new Map<string, Verified>()

  async function verify(token: Secret, key: string): Promise<Caller | null> {
    const found = await verifyAccessToken(token, issuer, findPublicKey, clock.now())
    if (!found) return null
    const caller = toCaller(found.claims)
    putNewest(verified, key, { caller, expiresAtMs: found.expiresAtMs }, MAX_TOKENS)
    return caller
  }

  return {
    explainToken: makeExplainToken({ issuer, findPublicKey, clock }),
    /**
     * Finds the caller of a bearer token; null when it is not valid. Rejects with what `findPublicKey` rejects with.
     */
    identify(token: Secret): Promise<Caller | null> | Caller | null {
      const key = hash('sha256', token.reveal(), 'base64')
      const known = verified.get(key)
      if (!known) return verify(token, key)
      if (known.expiresAtMs > clock.now().getTime()) return known.caller
      verified.delete(key)
      return null
    },
  }
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
