import type { AnswerOrLastKnown } from '../database/last-known.ts'
import { putNewest } from '../kernel/bounded-map.ts'
import type { Caller } from '../kernel/caller.ts'
import { SlotList } from '../kernel/slot-list.ts'

/**
 * The last known states of sessions and API keys, by id, so that calls need no query each (stale-while-revalidate). An
 * ended one is refused within 5 s, and its open streams are ended. While the database is unavailable, known callers
 * stay valid.
 */
export type LiveStates = {
  /**
   * The caller of a session or key; null when it has ended. `find` queries the database, and rejects when the database
   * does not answer.
   */
  callerOf(id: string, find: FindCaller): Promise<Caller | null> | Caller | null
  /**
   * Remembers the answer of a query that began at `askedAt` (`performance.now()`), unless a newer state is known.
   * Returns the newest caller.
   */
  remember(id: string, caller: Caller | null, askedAt: number): Caller | null
  /** Marks a session or key as ended that this process has just ended, without waiting for the next query. */
  end(id: string): void
  /** Calls `onEnd` once when the session or key ends. Returns a function that stops watching. */
  watch(id: string, onEnd: () => void): () => void
  close(): void
}

type FindCaller = (id: string) => Promise<Caller | null>

type Needs = {
  /** Finds which of these sessions and keys are active. */
  readonly findAlive: (ids: readonly string[]) => Promise<Set<string>>
  readonly answerOrLastKnown: AnswerOrLastKnown
}

/** A state younger than this is used without a query. */
const FRESH_MS = 2000
/**
 * A state older than this is used only when the database does not answer in time. In between, it is used while the
 * database is asked.
 */
const STALE_MS = 4000
const WATCH_INTERVAL_MS = 2000
const MAX_STATES = 20_000

/** The last known state; `caller` is null when the session or key has ended. */
type LastKnown = {
  readonly caller: Caller | null
  readonly checkedAt: number
  readonly recheck?: Promise<Caller | null>
}

/** Opens the states of callers that this process knows. Those that are watched are checked every two seconds. */
export function openLiveStates({ findAlive, answerOrLastKnown }: Needs): LiveStates {
  const states = new Map<string, LastKnown>()
  const watchers = new Map<string, SlotList<() => void>>()
  const timer = setInterval(() => void checkWatched(), WATCH_INTERVAL_MS)
  timer.unref()
  let isCheckingWatched = false

  function save(id: string, lastKnown: LastKnown): void {
    putNewest(states, id, lastKnown, MAX_STATES)
  }

  /**
   * Saves the answer of a query, unless a newer state is known: `end` may have been called meanwhile. The answer is as
   * old as its query, because what has ended meanwhile must not be valid for longer.
   */
  function remember(id: string, caller: Caller | null, askedAt: number, checkedAt = askedAt): Caller | null {
    const current = states.get(id)
    if (current && current.checkedAt >= askedAt) return current.caller
    save(id, { caller, checkedAt })
    if (!caller) notifyWatchers(id)
    return caller
  }

  function check(id: string, find: FindCaller): Promise<Caller | null> {
    const lastKnown = states.get(id)
    if (lastKnown?.recheck) return lastKnown.recheck
    const askedAt = performance.now()
    const recheck = find(id).then(
      (caller) => remember(id, caller, askedAt),
      (error: unknown) => {
        // The database is unavailable. A known caller stays valid until its credential expires.
        if (lastKnown?.caller) remember(id, lastKnown.caller, askedAt, performance.now())
        else states.delete(id)
        throw error
      },
    )
    save(id, { caller: lastKnown?.caller ?? null, checkedAt: lastKnown?.checkedAt ?? -Infinity, recheck })
    return recheck
  }

  function addWatchers(id: string): SlotList<() => void> {
    const added = new SlotList<() => void>()
    watchers.set(id, added)
    return added
  }

  function notifyWatchers(id: string): void {
    const ended = watchers.get(id)
    watchers.delete(id)
    ended?.all().forEach((onEnd) => onEnd())
  }

  async function checkWatched(): Promise<void> {
    // Empty lists are removed here, and not when a call ends: the next call of the same caller would make a new one.
    for (const [id, { size }] of watchers) if (size === 0) watchers.delete(id)
    if (watchers.size === 0 || isCheckingWatched) return
    isCheckingWatched = true
    const watched = [...watchers.keys()]
    // While the database is unavailable, streams continue.
    const alive = await findAlive(watched).catch(() => new Set(watched))
    isCheckingWatched = false
    watched.filter((id) => !alive.has(id)).forEach(end)
  }

  function end(id: string): void {
    save(id, { caller: null, checkedAt: performance.now() })
    notifyWatchers(id)
  }

  return {
    callerOf(id, find) {
      const lastKnown = states.get(id)
      const age = lastKnown ? performance.now() - lastKnown.checkedAt : Infinity
      if (!lastKnown || (age > STALE_MS && !lastKnown.caller)) return check(id, find)
      if (age > STALE_MS) return answerOrLastKnown(check(id, find), () => (states.get(id) ?? lastKnown).caller)
      if (age > FRESH_MS) check(id, find).catch(() => {})
      return lastKnown.caller
    },
    remember,
    end,
    watch(id, onEnd) {
      const own = watchers.get(id) ?? addWatchers(id)
      const slot = own.add(onEnd)
      return () => own.remove(slot, onEnd)
    },
    close: () => clearInterval(timer),
  }
}
