/**
 * When the sums of teams are loaded (stale-while-revalidate). Only those of teams whose calls come here are loaded, all
 * of them together, because reading the sums of thousands of members every second takes too long.
 */
import type { AnswerOrLastKnown } from '../../database/last-known.ts'

type Needs = {
  /** Loads the sums of these teams. Until it resolves, the earlier ones are used. */
  readonly load: (teams: ReadonlySet<string>) => Promise<void>
  /** Called when that has failed. The earlier sums stay in use. `isFirst`: it is the first error since they loaded. */
  readonly onFailure: (error: unknown, isFirst: boolean) => void
  readonly answerOrLastKnown: AnswerOrLastKnown
}

/** Keeps the sums of the teams in use fresh. */
export type TeamRefresher = {
  /**
   * Notes a call of a team. Null: its sums can be used now. Otherwise resolves when they are fresh enough, or cannot be
   * fresher, and rejects when none were ever loaded.
   */
  refresh(team: string): Promise<void> | null
  /** Loads the sums again before the next call. */
  expire(): void
}

/** Sums that are younger are used as they are. */
const FRESH_MS = 1000
/**
 * Sums are also fresh for ten times as long as loading them took, so that loading takes about a tenth of the time.
 * They are never fresh for longer than `MAX_FRESH_MS`.
 */
const FRESH_LOADS = 10
const MAX_FRESH_MS = 5000
/** Sums that are this many times as old are used only when the database does not answer in time. */
const STALE_TIMES = 2
/** The sums of teams without a call for this long are not loaded any more. */
const IDLE_MS = 60_000

/** The sums that are being loaded, and of which teams. */
type Loading = { readonly teams: ReadonlySet<string>; readonly done: Promise<void> }

/** Makes a refresher. It loads nothing until a team makes its first call. */
export function makeTeamRefresher({ load, onFailure, answerOrLastKnown }: Needs): TeamRefresher {
  /** When the sums of a team were loaded. A team is here as soon as they are known. */
  const checkedAt = new Map<string, number>()
  /** The last call of each team. */
  const usedAt = new Map<string, number>()
  let expirations = 0
  let isFailing = false
  let loading: Loading | null = null
  let freshMs = FRESH_MS

  /** Loads the sums of the teams in use, of which this is one. Rejects when they cannot be loaded. */
  function reload(team: string): Promise<void> {
    if (loading && !loading.teams.has(team)) return loading.done.catch(() => undefined).then(() => reload(team))
    loading ??= beginLoading()
    return loading.done
  }

  function beginLoading(): Loading {
    const now = performance.now()
    for (const [team, lastUse] of usedAt) if (now - lastUse > IDLE_MS) usedAt.delete(team)
    const used = new Set(usedAt.keys())
    return { teams: used, done: loadOnce(used).finally(() => (loading = null)) }
  }

  async function loadOnce(used: ReadonlySet<string>): Promise<void> {
    const [startedAt, expiredBefore] = [performance.now(), expirations]
    try {
      await load(used)
      isFailing = false
      freshMs = Math.min(Math.max(FRESH_MS, FRESH_LOADS * (performance.now() - startedAt)), MAX_FRESH_MS)
      // The sums are as old as the question. Limits that have changed since then may be missing.
      for (const team of used) checkedAt.set(team, expirations === expiredBefore ? startedAt : -Infinity)
    } catch (error) {
      for (const team of used) if (checkedAt.has(team)) checkedAt.set(team, performance.now())
      onFailure(error, !isFailing)
      isFailing = true
      throw error
    }
  }

  return {
    refresh(team) {
      const now = performance.now()
      usedAt.set(team, now)
      const lastCheck = checkedAt.get(team)
      if (lastCheck === undefined) return reload(team)
      const ageMs = now - lastCheck
      if (ageMs < freshMs) return null
      const reloading = reload(team)
      if (!isFailing && ageMs >= STALE_TIMES * freshMs) return answerOrLastKnown(reloading, () => undefined)
      reloading.catch(() => undefined)
      return null
    },
    expire() {
      expirations += 1
      for (const team of checkedAt.keys()) checkedAt.set(team, -Infinity)
    },
  }
}
