import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret } from '../../kernel/secret.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import { isOver, touchTimes } from './rules.ts'
import type { BrowserSessionStore } from './store.ts'

/** Finds the caller of a session cookie that came from an IP address; null when it is not valid. */
export type IdentifyBrowser = (cookie: Secret, ip: string) => Promise<Caller | null>

type Needs = {
  readonly sessions: BrowserSessionStore
  readonly onUnknownCredential: OnUnknownCredential
  readonly clock: Clock
}

/**
 * Identifies the caller by a session cookie; each use keeps the session alive. The cookie of a session that is over is
 * not valid either, but no guess: browsers keep it.
 */
export function makeIdentifyBrowser({ sessions, onUnknownCredential, clock }: Needs): IdentifyBrowser {
  return async (cookie, ip) => {
    const found = await sessions.find(hashSecret(cookie))
    if (!found) onUnknownCredential(ip)
    const now = clock.now()
    if (!found || isOver(found.times, now)) return null
    const touched = touchTimes(found.times, now)
    if (touched) await sessions.touch(found, touched, ip)
    return found.caller
  }
}
