import type { Clock } from '../../kernel/clock.ts'

/** What is known of something that has to be asked. */
export type Probe<Result> = {
  /** What is known now; asks again in the background when that is older. Null: nothing is known yet. */
  lastKnown(maxAgeMs: number): Result | null
  /** What is known when it is not older, else the answer to a new question. */
  check(maxAgeMs: number): Promise<Result>
  /** Asks now, in the background. */
  recheck(): void
}

type Needs<Result> = {
  /** Never rejects. */
  readonly ask: () => Promise<Result>
  readonly onResult: (result: Result, before: Result | null) => void
  readonly clock: Clock
}

/** Asks one question at a time, however many callers want to know. Nothing is asked while there are no callers. */
export function openProbe<Result>({ ask, onResult, clock }: Needs<Result>): Probe<Result> {
  let known: { readonly result: Result; readonly at: number } | null = null
  let asking: Promise<Result> | null = null

  // A clock that was set back must not keep an old result forever.
  const isOlder = (ms: number): boolean => !known || Math.abs(clock.now().getTime() - known.at) > ms
  const refresh = (): Promise<Result> => {
    asking ??= ask().then((result) => {
      onResult(result, known?.result ?? null)
      known = { result, at: clock.now().getTime() }
      asking = null
      return result
    })
    return asking
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
