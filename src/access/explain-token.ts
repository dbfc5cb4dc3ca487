import type { ExplainToken } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { VerifyOnce } from './verify-once.ts'

type Needs = { readonly verify: VerifyOnce; readonly clock: Clock }

/**
 * Says why an access token is refused. Every token without a good signature is `unknown`, so that invented tokens
 * reveal nothing about sessions.
 */
export function makeExplainToken({ verify, clock }: Needs): ExplainToken {
  return async (token) => {
    const genuine = await verify(token)
    if (!genuine) return 'unknown'
    return genuine.expiresAtMs <= clock.now().getTime() ? 'expired' : 'revoked'
  }
}
