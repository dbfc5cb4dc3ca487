import { setTimeout as sleep } from 'node:timers/promises'
import { withDeadline } from './wait.ts'

export type CallReport = {
  /** The number of calls by outcome; a call that threw counts as `failed: <message>`. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly count: number
  /** The longest time that a call took, in milliseconds. */
  readonly slowestMs: number
}

/** Callers that repeat a call until they are stopped. */
export type RepeatedCalls = AsyncDisposable & {
  /** What happened so far. */
  report(): CallReport
  /** Forgets what happened so far. */
  reset(): void
  /** Lets the calls under way end, and resolves with what happened. */
  stop(): Promise<CallReport>
}

/**
 * Starts `callers` loops that each repeat `call`, with a pause in between, until `stop`. `call` returns the outcome of
 * one call, such as `200` or `cut off`.
 */
export function repeatCalls(
  callers: number,
  call: (caller: number) => Promise<string>,
  { pauseMs = 10 }: { readonly pauseMs?: number } = {},
): RepeatedCalls {
  const state = { outcomes: new Map<string, number>(), count: 0, slowestMs: 0, isOver: false }
  const loops = Array.from({ length: callers }, async (_, caller) => {
    while (!state.isOver) {
      const startedAt = performance.now()
      const outcome = await call(caller).catch((error: unknown) => `failed: ${describe(error)}`)
      state.slowestMs = Math.max(state.slowestMs, performance.now() - startedAt)
      state.count += 1
      state.outcomes.set(outcome, (state.outcomes.get(outcome) ?? 0) + 1)
      await sleep(pauseMs)
    }
  })
  const report = () => ({
    outcomes: Object.fromEntries(state.outcomes),
    count: state.count,
    slowestMs: state.slowestMs,
  })
  const stop = async () => {
    state.isOver = true
    await withDeadline('the repeated calls to end', Promise.all(loops), 60_000)
    return report()
  }
  return {
    report,
    reset: () => void Object.assign(state, { outcomes: new Map(), count: 0, slowestMs: 0 }),
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
    },
  }
}

/** The outcome of reading an answer to its end: its status, and `cut off` when its connection closed before the end. */
export async function readToEnd(answer: Promise<Response>): Promise<string> {
  const response = await answer
  return response.text().then(
    () => String(response.status),
    () => `${response.status} cut off`,
  )
}

/** The message of an error and of its cause: `fetch` has the reason in the cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message
}
