import { hash } from 'node:crypto'
import type { FindPublicKey, VerifiedToken } from './access-token.ts'
import { verifyAccessToken } from './access-token.ts'
import type { Caller } from '../kernel/caller.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Secret } from '../kernel/secret.ts'

type Needs = {
  readonly issuer: string
  readonly findPublicKey: FindPublicKey
  /** Who a device session belongs to; null when it has ended. Throws when it cannot tell. */
  readonly findDeviceCaller: (sessionId: string) => Promise<Caller | null>
  /** Which of these sessions are alive. */
  readonly findAlive: (sessionIds: readonly string[]) => Promise<Set<string>>
  readonly clock: Clock
}

/**
 * Knows the callers of the gateway without asking the database for each call: a token is verified once, and whether its session is
 * alive is asked again every few seconds while it is used. A session that ends is refused everywhere within 5 s, and its open streams
 * are told. When the database is away, callers that are known stay known until their tokens end.
 */
export type LiveSessions = {
  /** Who a bearer token belongs to; null when it is not good. Throws when it cannot tell. */
  identify(token: Secret): Promise<Caller | null> | Caller | null
  /** This process has just ended the session: no need to wait for the next look. */
  end(sessionId: string): void
  /** Calls back once when the session ends. Returns what stops the watch. */
  watch(sessionId: string, onEnd: () => void): () => void
  close(): void
}

/** Younger answers are taken as they are. */
const FRESH_MS = 2000
/** Older answers are not used before the database was asked. In between they are used while it is asked. */
const STALE_MS = 4000
const WATCH_INTERVAL_MS = 2000
const MOST_TOKENS = 20_000

type Known = { readonly caller: Caller | null; readonly askedAt: number; asking?: Promise<Caller | null> }

export function liveSessions(needs: Needs): LiveSessions {
  const tokens = new Map<string, VerifiedToken>()
  const sessions = new Map<string, Known>()
  const watchers = new Map<string, Set<() => void>>()
  const timer = setInterval(() => void lookAtWatched(), WATCH_INTERVAL_MS)
  timer.unref()

  async function verify(token: Secret, key: string): Promise<VerifiedToken | null> {
    const verified = await verifyAccessToken(token, needs.issuer, needs.findPublicKey, needs.clock.now())
    if (verified) remember(tokens, key, verified)
    return verified
  }

  function ask(sessionId: string): Promise<Caller | null> {
    const known = sessions.get(sessionId)
    if (known?.asking) return known.asking
    const asking = needs.findDeviceCaller(sessionId).then(
      (caller) => settle(caller),
      (error: unknown) => {
        if (known?.caller) return settle(known.caller) // The database is away. The token ends soon enough by itself.
        sessions.delete(sessionId)
        throw error
      },
    )
    function settle(caller: Caller | null): Caller | null {
      const current = sessions.get(sessionId)
      // What `end` said meanwhile is newer than this answer.
      if (current?.asking !== asking) return current?.caller ?? null
      remember(sessions, sessionId, { caller, askedAt: performance.now() })
      if (!caller) tellWatchers(sessionId)
      return caller
    }
    remember(sessions, sessionId, { caller: known?.caller ?? null, askedAt: known?.askedAt ?? -Infinity, asking })
    return asking
  }

  function callerOf(sessionId: string): Promise<Caller | null> | Caller | null {
    const known = sessions.get(sessionId)
    const age = known ? performance.now() - known.askedAt : Infinity
    if (!known || age > STALE_MS) return ask(sessionId)
    if (age > FRESH_MS) ask(sessionId).catch(() => {})
    return known.caller
  }

  function tellWatchers(sessionId: string): void {
    const told = watchers.get(sessionId)
    watchers.delete(sessionId)
    told?.forEach((onEnd) => onEnd())
  }

  async function lookAtWatched(): Promise<void> {
    if (watchers.size === 0) return
    const watched = [...watchers.keys()]
    // Streams outlive a database that is away for a moment.
    const alive = await needs.findAlive(watched).catch(() => new Set(watched))
    watched.filter((sessionId) => !alive.has(sessionId)).forEach(end)
  }

  function end(sessionId: string): void {
    remember(sessions, sessionId, { caller: null, askedAt: performance.now() })
    tellWatchers(sessionId)
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
    end,
    watch(sessionId, onEnd) {
      const those = watchers.get(sessionId) ?? new Set()
      watchers.set(sessionId, those.add(onEnd))
      return () => {
        those.delete(onEnd)
        if (those.size === 0 && watchers.get(sessionId) === those) watchers.delete(sessionId)
      }
    },
    close: () => clearInterval(timer),
  }
}

/** Puts an entry at the end and drops the oldest ones beyond the bound. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= MOST_TOKENS) return
  const oldest = map.keys().next().value
  if (oldest !== undefined) map.delete(oldest)
}
