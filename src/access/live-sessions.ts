import { hash } from 'node:crypto'
import type { Caller, ExplainToken } from '../kernel/caller.ts'
import { answerOrLastKnown } from '../database/last-known.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Secret } from '../kernel/secret.ts'
import { verifyAccessToken } from './access-token.ts'
import type { FindPublicKey, VerifiedToken } from './access-token.ts'
import { putNewest } from './bounded-map.ts'
import { makeExplainToken } from './explain-token.ts'

type Needs = {
  readonly issuer: string
  readonly findPublicKey: FindPublicKey
  /**
   * Finds the caller of a device session; null when the session has ended. Rejects when the database does not answer.
   */
  readonly findDeviceCaller: (sessionId: string) => Promise<Caller | null>
  /** Finds which of these sessions are active. */
  readonly findAlive: (sessionIds: readonly string[]) => Promise<Set<string>>
  readonly clock: Clock
}

/**
 * Identifies the callers of the gateway without a query for each call: a token is verified once, and the state of its
 * session is queried again every few seconds while it is used. A session that ends is refused everywhere within 5 s,
 * and its open streams are ended. While the database is away, known callers stay valid until their tokens expire, and
 * they wait for it 100 ms at most.
 */
export type LiveSessions = {
  /** Finds the caller of a bearer token; null when it is not valid. Rejects when that cannot be determined. */
  identify(token: Secret): Promise<Caller | null> | Caller | null
  readonly explainToken: ExplainToken
  /** Marks a session as ended that this process has just ended, without waiting for the next query. */
  end(sessionId: string): void
  /** Calls `onEnd` once when the session ends. Returns a function that stops watching. */
  watch(sessionId: string, onEnd: () => void): () => void
  close(): void
}

/** A state younger than this is used without a query. */
const FRESH_MS = 2000
/**
 * A state older than this is used only when the database does not answer within 100 ms. In between, it is used while
 * the database is asked.
 */
const STALE_MS = 4000
const WATCH_INTERVAL_MS = 2000
const MAX_TOKENS = 20_000

/** The last known state of a session; `caller` is null when it has ended. */
type LastKnown = {
  readonly caller: Caller | null
  readonly checkedAt: number
  readonly recheck?: Promise<Caller | null>
}

export function liveSessions(needs: Needs): LiveSessions {
  const tokens = new Map<string, VerifiedToken>()
  const sessions = new Map<string, LastKnown>()
  const watchers = new Map<string, Set<() => void>>()
  const timer = setInterval(() => void checkWatched(), WATCH_INTERVAL_MS)
  timer.unref()

  async function verify(token: Secret, key: string): Promise<VerifiedToken | null> {
    const verified = await verifyAccessToken(token, needs.issuer, needs.findPublicKey, needs.clock.now())
    if (verified) putNewest(tokens, key, verified, MAX_TOKENS)
    return verified
  }

  function save(sessionId: string, lastKnown: LastKnown): void {
    putNewest(sessions, sessionId, lastKnown, MAX_TOKENS)
  }

  function check(sessionId: string): Promise<Caller | null> {
    const lastKnown = sessions.get(sessionId)
    if (lastKnown?.recheck) return lastKnown.recheck
    const recheck = needs.findDeviceCaller(sessionId).then(settle, (error: unknown) => {
      // The database is away. The caller stays valid until the token expires.
      if (lastKnown?.caller) return settle(lastKnown.caller)
      sessions.delete(sessionId)
      throw error
    })
    function settle(caller: Caller | null): Caller | null {
      const current = sessions.get(sessionId)
      // `end` was called meanwhile, which is newer than this answer.
      if (current?.recheck !== recheck) return current?.caller ?? null
      save(sessionId, { caller, checkedAt: performance.now() })
      if (!caller) notifyWatchers(sessionId)
      return caller
    }
    save(sessionId, { caller: lastKnown?.caller ?? null, checkedAt: lastKnown?.checkedAt ?? -Infinity, recheck })
    return recheck
  }

  function callerOf(sessionId: string): Promise<Caller | null> | Caller | null {
    const lastKnown = sessions.get(sessionId)
    const age = lastKnown ? performance.now() - lastKnown.checkedAt : Infinity
    if (!lastKnown || (age > STALE_MS && !lastKnown.caller)) return check(sessionId)
    if (age > STALE_MS) return answerOrLastKnown(check(sessionId), lastKnown.caller)
    if (age > FRESH_MS) check(sessionId).catch(() => {})
    return lastKnown.caller
  }

  function notifyWatchers(sessionId: string): void {
    const ended = watchers.get(sessionId)
    watchers.delete(sessionId)
    ended?.forEach((onEnd) => onEnd())
  }

  async function checkWatched(): Promise<void> {
    if (watchers.size === 0) return
    const watched = [...watchers.keys()]
    // While the database is away, streams continue.
    const alive = await needs.findAlive(watched).catch(() => new Set(watched))
    watched.filter((sessionId) => !alive.has(sessionId)).forEach(end)
  }

  function end(sessionId: string): void {
    save(sessionId, { caller: null, checkedAt: performance.now() })
    notifyWatchers(sessionId)
  }

  return {
    identify(token) {
      const key = hash('sha256', token.reveal(), 'base64')
      const verified = tokens.get(key)
      if (!verified) return verify(token, key).then((fresh) => fresh && callerOf(fresh.claims.sessionId))
      if (verified.expiresAtMs > needs.clock.now().getTime()) return callerOf(verified.claims.sessionId)
      tokens.delete(key)
      return null
    },
    explainToken: makeExplainToken(needs),
    end,
    watch(sessionId, onEnd) {
      const own = watchers.get(sessionId) ?? new Set()
      watchers.set(sessionId, own.add(onEnd))
      return () => {
        own.delete(onEnd)
        if (own.size === 0 && watchers.get(sessionId) === own) watchers.delete(sessionId)
      }
    },
    close: () => clearInterval(timer),
  }
}
