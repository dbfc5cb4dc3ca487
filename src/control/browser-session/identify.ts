import type { Identify } from '../../http/authenticate.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret } from '../../kernel/secret.ts'
import { isOver, touchTimes } from './rules.ts'
import type { BrowserSessionStore } from './store.ts'

/** Who a session cookie belongs to. Each use keeps the session alive. */
export function identifyBrowser({ sessions, clock }: { sessions: BrowserSessionStore; clock: Clock }): Identify {
  return async (cookie) => {
    const found = await sessions.find(hashSecret(cookie))
    const now = clock.now()
    if (!found || isOver(found.times, now)) return null
    const touched = touchTimes(found.times, now)
    if (touched) await sessions.touch(found.caller.sessionId, touched)
    return found.caller
  }
}
