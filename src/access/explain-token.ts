import type { ExplainToken } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import { verifyEndedToken } from './access-token.ts'
import type { FindPublicKey } from './access-token.ts'

type Needs = { readonly issuer: string; readonly findPublicKey: FindPublicKey; readonly clock: Clock }

/**
 * Says why an access token is refused. Only a token with a good signature is told apart from an unknown one, so that
 * nobody can ask about sessions with made-up tokens.
 */
export function makeExplainToken({ issuer, findPublicKey, clock }: Needs): ExplainToken {
  return async (token) => {
    const genuine = await verifyEndedToken(token, issuer, findPublicKey)
    if (!genuine) return 'unknown'
    return genuine.expiresAtMs <= clock.now().getTime() ? 'expired' : 'revoked'
  }
}
