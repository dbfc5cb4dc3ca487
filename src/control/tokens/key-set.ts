import type { PublicKey } from '../../../generated/openapi.ts'
import type { Handlers } from '../../http/operation.ts'

/** How long a verifier may cache the keys. A new key is published at least twice this time before it signs. */
const MAX_AGE_SECONDS = 300

/** The published keys that verify access tokens (RFC 7517). */
export function makeKeySetHandlers({ publicKeys }: { readonly publicKeys: () => PublicKey[] }): Handlers<'getKeySet'> {
  return {
    async getKeySet(_req, res) {
      res.set('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`)
      res.status(200).json({ keys: publicKeys() })
    },
  }
}
