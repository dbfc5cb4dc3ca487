import type { PublicKey } from '../../generated/openapi.ts'
import { isObject } from '../kernel/json.ts'

/** A published Ed25519 key, reduced to what verifying needs. */
export type PublishedKey = { readonly kid: string; readonly x: string }

/** Reads the Ed25519 keys of a JWK set's `keys` (RFC 7517, section 5) and ignores keys of other types. */
export function toPublishedKeys(keys: unknown): PublishedKey[] {
  if (!Array.isArray(keys)) return []
  return (keys as unknown[]).flatMap((key) => {
    if (!isObject(key) || key['kty'] !== 'OKP' || key['crv'] !== 'Ed25519') return []
    const { kid, x } = key
    return typeof kid === 'string' && typeof x === 'string' ? [{ kid, x }] : []
  })
}

/** Writes a key as a JWK (RFC 8037, section 2). */
export function toJwk({ kid, x }: PublishedKey): PublicKey {
  return { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid, x }
}
