import type { Identify } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret } from '../../kernel/secret.ts'
import { isOver, touchTimes } from './rules.ts'
import type { BrowserSessionStore } from './store.ts'

type Needs = { readonly sessions: BrowserSessionStore; readonly clock: Clock }

/** Identifies the caller by a session cookie; each use keeps the session alive. */
export function makeIdentifyBrowser({ sessions, clock }: Needs): Identify {
  return async (cookie) => {
    const found = await sessions.find(hashSecret(cookie))
    const now = clock.now()
    if (!found || isOver(found.times, now)) return null
    const touched = touchTimes(found.times, now)
    if (touched) await sessions.touch(found.caller.sessionId, touched)
    return found.caller
  }
}
