import type { Transaction } from '../database/client.ts'
import type { Actor } from '../kernel/caller.ts'

/**
 * Whether the session of an actor has not ended since the request was authenticated. What is added to an account is
 * added in a transaction that has locked the account first: signing out everywhere holds the same lock and ends what
 * was added, and what is added later must not outlive it.
 */
export async function isSignedIn(
  tx: Transaction,
  { sessionId, sessionKind }: Pick<Actor, 'sessionId' | 'sessionKind'>,
): Promise<boolean> {
  const where = { id: sessionId, revokedAt: null }
  const count = sessionKind === 'device' ? tx.deviceSession.count({ where }) : tx.browserSession.count({ where })
  return (await count) === 1
}
