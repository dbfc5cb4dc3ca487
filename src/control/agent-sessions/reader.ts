import type { Listening, OnNotice } from '../../database/client.ts'
import { readNotice, sessionKeyOf } from '../../kernel/agent-session.ts'
import type { AgentSession } from '../../kernel/agent-session.ts'
import type { StoredEvent } from './rules.ts'
import type { SessionPosition } from './store.ts'

type Needs = {
  /** For each position, the next events behind it, at most `limit`. */
  readonly findEvents: (
    positions: readonly SessionPosition[],
    limit: number,
  ) => Promise<readonly (readonly StoredEvent[])[]>
  readonly findNewestId: () => Promise<bigint>
  /** Listens to what writers of events announce. */
  readonly listen: (onNotice: OnNotice) => Listening
  /** Called with the first of several errors in a row. */
  readonly onFailure: (error: unknown) => void
}

export type Follower = {
  readonly session: AgentSession
  /** Only events with greater ids are wanted. */
  readonly after: bigint
  /**
   * Takes the next events. `isAll`: there are no others yet. Returns false when it takes no more before it has called
   * `resume`.
   */
  take(events: readonly StoredEvent[], isAll: boolean): boolean
}

export type Following = {
  resume(): void
  stop(): void
}

export type SessionReader = {
  follow(follower: Follower): Following
  close(): void
}

/** A follower with its position. */
type Entry = { readonly follower: Follower; readonly key: string; after: bigint; isReady: boolean }

/** Bounds of what one statement reads. */
const MAX_POSITIONS = 100
const MAX_EVENTS = 100

/** How often the newest event is asked for, depending on whether notifications arrive. */
const CHECK_MS = { withoutNotices: 1000, withNotices: 5000 }

const RETRY_MS = 1000

const NOT_CHECKED = -1n

/**
 * Reads the events of sessions for all followers of this process. A notification says which sessions have new events,
 * and one statement reads them for all followers at the same position. Notifications can be lost, so a small query
 * asks for the newest event from time to time. Without followers nothing is read.
 */
export function openSessionReader({ findEvents, findNewestId, listen, onFailure }: Needs): SessionReader {
  const followers = new Map<string, Set<Entry>>()
  /** Followers that can take events and may not have all. */
  const behind = new Set<Entry>()
  let listening: Listening | null = null
  let timer: NodeJS.Timeout | null = null
  let isReading = false
  let isFailing = false
  let isClosed = false
  let newestId = NOT_CHECKED
  let checkedAt = 0
  /** Whether a notification has arrived since the last check. */
  let hasNotice = false
  /** Whether the last new events were found by a check, without a notification. */
  let missesNotices = false

  function onNotice(payload: string | null): void {
    hasNotice ||= payload !== null
    if (payload !== null) missesNotices = false
    const keys = payload === null ? null : readNotice(payload)
    for (const key of keys ?? followers.keys()) followers.get(key)?.forEach(markBehind)
    void readAll()
  }

  function markBehind(entry: Entry): void {
    if (entry.isReady) behind.add(entry)
  }

  async function readAll(): Promise<void> {
    if (isReading) return
    isReading = true
    while (behind.size > 0 && !isClosed) {
      const groups = takeGroups(behind)
      try {
        const found = await findEvents(
          groups.map(([{ follower, after }]) => ({ ...follower.session, after })),
          MAX_EVENTS,
        )
        isFailing = false
        groups.forEach((group, index) => group.forEach((entry) => deliver(entry, found[index] ?? [])))
      } catch (error) {
        groups.flat().filter(isFollowing).forEach(markBehind)
        await pause(error)
      }
    }
    isReading = false
  }

  async function pause(error: unknown): Promise<void> {
    if (!isFailing) onFailure(error)
    isFailing = true
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref())
  }

  function deliver(entry: Entry, events: readonly StoredEvent[]): void {
    if (!isFollowing(entry)) return
    const isAll = events.length < MAX_EVENTS
    entry.after = events.at(-1)?.id ?? entry.after
    entry.isReady = entry.follower.take(events, isAll)
    if (!entry.isReady) behind.delete(entry)
    else if (!isAll) behind.add(entry)
  }

  function isFollowing(entry: Entry): boolean {
    return followers.get(entry.key)?.has(entry) ?? false
  }

  async function check(): Promise<void> {
    const every = listening?.isConnected() && !missesNotices ? CHECK_MS.withNotices : CHECK_MS.withoutNotices
    // Timers are not exact, so a little early counts.
    if (performance.now() - checkedAt < every - 100) return
    checkedAt = performance.now()
    const newest = await findNewestId().catch(() => newestId)
    if (newest !== newestId) {
      missesNotices = newestId !== NOT_CHECKED && !hasNotice
      newestId = newest
      for (const entries of followers.values()) entries.forEach(markBehind)
      void readAll()
    }
    hasNotice = false
  }

  function start(): void {
    listening ??= listen(onNotice)
    timer ??= setInterval(() => void check(), CHECK_MS.withoutNotices).unref()
  }

  function remove(entry: Entry): void {
    behind.delete(entry)
    const entries = followers.get(entry.key)
    entries?.delete(entry)
    if (entries?.size === 0) followers.delete(entry.key)
    if (followers.size === 0) stopChecking()
  }

  function stopChecking(): void {
    if (timer) clearInterval(timer)
    timer = null
  }

  return {
    follow(follower) {
      const key = sessionKeyOf(follower.session)
      const entry: Entry = { follower, key, after: follower.after, isReady: true }
      followers.set(key, (followers.get(key) ?? new Set()).add(entry))
      start()
      markBehind(entry)
      void readAll()
      return {
        resume() {
          if (!isFollowing(entry)) return
          entry.isReady = true
          markBehind(entry)
          void readAll()
        },
        stop: () => remove(entry),
      }
    },
    close() {
      isClosed = true
      stopChecking()
      listening?.close()
    },
  }
}

type Group = readonly [Entry, ...Entry[]]

/** Takes followers out of a set, those at the same position together, up to the bound of positions. */
function takeGroups(behind: Set<Entry>): readonly Group[] {
  const groups = new Map<string, [Entry, ...Entry[]]>()
  for (const entry of behind) {
    const position = `${entry.key} ${entry.after}`
    const group = groups.get(position)
    if (!group && groups.size === MAX_POSITIONS) continue
    behind.delete(entry)
    if (group) group.push(entry)
    else groups.set(position, [entry])
  }
  return [...groups.values()]
}
