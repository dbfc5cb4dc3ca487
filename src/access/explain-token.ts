import type { ExplainToken } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import { verifyIgnoringExpiry } from './access-token.ts'
import type { FindPublicKey } from './access-token.ts'

type Needs = { readonly issuer: string; readonly findPublicKey: FindPublicKey; readonly clock: Clock }

/**
 * Says why an access token is refused. Every token without a good signature is `unknown`, so that invented tokens
 * reveal nothing about sessions.
 */
export function makeExplainToken({ issuer, findPublicKey, clock }: Needs): ExplainToken {
  return async (token) => {
    const genuine = await verifyIgnoringExpiry(token, issuer, findPublicKey)
    if (!genuine) return 'unknown'
    return genuine.expiresAtMs <= clock.now().getTime() ? 'expired' : 'revoked'
  }
}
