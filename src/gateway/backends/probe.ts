import type { Clock } from '../../kernel/clock.ts'

/** A value that is fetched from elsewhere and kept for some time. */
export type Probe<Result> = {
  /** The last result; when it is older than this, a new one is fetched in the background. Null: there is none yet. */
  lastKnown(maxAgeMs: number): Result | null
  /** The last result when it is not older than this, else a new one. */
  check(maxAgeMs: number): Promise<Result>
  /** Fetches a new result in the background. */
  recheck(): void
}

type Needs<Result> = {
  /** Fetches the value. Never rejects. */
  readonly fetchResult: () => Promise<Result>
  readonly onResult: (result: Result, before: Result | null) => void
  readonly clock: Clock
}

/** Opens a probe. It runs one fetch at a time, whatever the number of callers, and none without a caller. */
export function openProbe<Result>({ fetchResult, onResult, clock }: Needs<Result>): Probe<Result> {
  let known: { readonly result: Result; readonly at: number } | null = null
  let running: Promise<Result> | null = null

  // A clock that was set back must not keep an old result forever.
  const isOlder = (ms: number): boolean => !known || Math.abs(clock.now().getTime() - known.at) > ms
  const refresh = (): Promise<Result> => {
    running ??= fetchResult().then((result) => {
      onResult(result, known?.result ?? null)
      known = { result, at: clock.now().getTime() }
      running = null
      return result
    })
    return running
  }

  return {
    lastKnown(maxAgeMs) {
      if (isOlder(maxAgeMs)) void refresh()
      return known?.result ?? null
    },
    async check(maxAgeMs) {
      return known && !isOlder(maxAgeMs) ? known.result : refresh()
    },
    recheck() {
      void refresh()
    },
  }
}
