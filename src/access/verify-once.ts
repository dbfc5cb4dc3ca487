import { hash } from 'node:crypto'
import { putNewest } from '../kernel/bounded-map.ts'
import type { Identify } from '../kernel/caller.ts'
import type { Secret } from '../kernel/secret.ts'
import { verifyIgnoringExpiry } from './access-token.ts'
import type { FindPublicKey, VerifiedToken } from './access-token.ts'

/**
 * Verifies an access token, also one that has expired: its user judges the expiry. Null when this service did not sign
 * it. Rejects with whatever `findPublicKey` throws.
 */
export type VerifyOnce = (token: Secret) => Promise<VerifiedToken | null> | VerifiedToken | null

type Needs = { readonly issuer: string; readonly findPublicKey: FindPublicKey }

const MAX_TOKENS = 20_000

/** Makes the function that verifies each token once, so that later calls with it cost no check of a signature. */
export function makeVerifyOnce({ issuer, findPublicKey }: Needs): VerifyOnce {
  const known = new Map<string, VerifiedToken>()

  async function verify(token: Secret, key: string): Promise<VerifiedToken | null> {
    const verified = await verifyIgnoringExpiry(token, issuer, findPublicKey)
    if (verified) putNewest(known, key, verified, MAX_TOKENS)
    return verified
  }

  return (token) => {
    const key = hash('sha256', token.reveal(), 'base64')
    return known.get(key) ?? verify(token, key)
  }
}

/** Makes the function that identifies a caller by a token, from one that finds the caller of a verified token. */
export function makeIdentifyVerified(
  verify: VerifyOnce,
  findCaller: (verified: VerifiedToken) => ReturnType<Identify>,
): Identify {
  const callerOf = (verified: VerifiedToken | null) => verified && findCaller(verified)
  return (token) => {
    const verified = verify(token)
    // A known token costs no promise.
    return verified instanceof Promise ? verified.then(callerOf) : callerOf(verified)
  }
}
