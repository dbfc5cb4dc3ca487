import type { PublicKey } from '../../../generated/openapi.ts'
import type { Handlers } from '../../http/operation.ts'

/** How long a verifier may keep the keys; a new key is published at least twice as long before it signs. */
const MAX_AGE_SECONDS = 300

export function keyRoutes({ publicKeys }: { publicKeys: () => PublicKey[] }): Handlers<'getKeySet'> {
  return {
    async getKeySet(_req, res) {
      res.set('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`)
      res.status(200).json({ keys: publicKeys() })
    },
  }
}
