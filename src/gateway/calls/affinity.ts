import { putNewest } from '../../kernel/bounded-map.ts'
import type { Affinity } from '../plan/order.ts'
import type { Admission } from './admit.ts'

/** Remembers which backend served a session. */
export type SessionAffinity = {
  find(admission: AffinityKey): Affinity
  note(admission: AffinityKey, backend: string): void
}

type AffinityKey = Pick<Admission, 'caller' | 'sessionId' | 'requestId' | 'model'>

const MAX_SESSIONS = 20_000

/**
 * Opens the memory of this process for the sessions that were served last. Ids of sessions are the clients' own and may
 * collide, so the account is a part of the key. So is the model, because agents use several in one session.
 */
export function openSessionAffinity(): SessionAffinity {
  const servedBy = new Map<string, string>()
  return {
    find({ caller, sessionId, requestId, model }) {
      // Calls without a session are spread one by one.
      if (sessionId === null) return { spreadBy: requestId, servedBy: null }
      const session = `${caller.accountId}\n${sessionId}`
      return { spreadBy: session, servedBy: servedBy.get(`${session}\n${model.id}`) ?? null }
    },
    note({ caller, sessionId, model }, backend) {
      if (sessionId === null) return
      putNewest(servedBy, `${caller.accountId}\n${sessionId}\n${model.id}`, backend, MAX_SESSIONS)
    },
  }
}
