import type { Transaction } from '../database/client.ts'
import { ApiError } from '../http/errors.ts'
import type { Actor } from '../kernel/caller.ts'

/**
 * Throws `unauthorized` when the session of an actor has ended since the request was authenticated. A transaction that
 * adds something to an account, such as a passkey, must lock the account first. Signing out everywhere takes the same
 * lock and removes what was added before, and this check refuses what would be added after it.
 */
export async function requireSignedIn(
  tx: Transaction,
  { sessionId, sessionKind }: Pick<Actor, 'sessionId' | 'sessionKind'>,
): Promise<void> {
  const where = { id: sessionId, revokedAt: null }
  const count = sessionKind === 'device' ? tx.deviceSession.count({ where }) : tx.browserSession.count({ where })
  if ((await count) !== 1) throw new ApiError('unauthorized')
}
