import { putNewest } from '../kernel/bounded-map.ts'
import type { Clock } from '../kernel/clock.ts'

/** Saves when credentials were last used, to the minute and outside of the calls. */
export type LastUsed = {
  /** Notes that a credential is used now. Writes nothing itself, so that calls can use it. */
  touch(id: string): void
  /** Saves what was noted, and ends. */
  close(): Promise<void>
}

type Needs = {
  /** Saves the time of the last use of several credentials. */
  readonly save: (ids: readonly string[], at: Date) => Promise<void>
  readonly clock: Clock
}

const MINUTE_MS = 60_000
const SAVE_INTERVAL_MS = 1000
const MAX_CREDENTIALS = 20_000

/** Each credential is saved once a minute while it is used. When saving fails, the next round tries again. */
export function openLastUsed({ save, clock }: Needs): LastUsed {
  /** The minute of the last noted use, by id. */
  const noted = new Map<string, number>()
  const unsaved = new Set<string>()
  let saving: Promise<void> | null = null
  const timer = setInterval(() => void saveNoted(), SAVE_INTERVAL_MS)
  timer.unref()

  const currentMinute = () => Math.floor(clock.now().getTime() / MINUTE_MS)

  function saveNoted(): Promise<void> {
    if (unsaved.size === 0) return Promise.resolve()
    saving ??= saveAll([...unsaved]).finally(() => (saving = null))
    return saving
  }

  async function saveAll(ids: readonly string[]): Promise<void> {
    unsaved.clear()
    await save(ids, new Date(currentMinute() * MINUTE_MS)).catch(() => ids.forEach((id) => unsaved.add(id)))
  }

  return {
    touch(id) {
      const minute = currentMinute()
      if (noted.get(id) === minute) return
      putNewest(noted, id, minute, MAX_CREDENTIALS)
      unsaved.add(id)
    },
    async close() {
      clearInterval(timer)
      await saving
      await saveNoted()
    },
  }
}
