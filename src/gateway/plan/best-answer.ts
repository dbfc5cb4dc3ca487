/** An error answer that a call could end with. */
export type FailedAnswer = {
  readonly status: number
  /** When the backend says that it may be asked again; null: it does not say. */
  readonly retryAfterSeconds: number | null
  /** Repeating the call cannot help, such as after `model_unavailable`. */
  readonly isPermanent: boolean
}

/**
 * The answer that tells the caller most, when all backends have failed: one that says when to come back, then one about
 * the request, then those about the operator's settings, then those about the backend. Of these, an answer after which
 * the call may be repeated comes first, because one of the backends may be away for a moment only. Null without an
 * answer.
 */
export function chooseAnswer<Answer extends FailedAnswer>(failed: readonly Answer[]): Answer | null {
  return failed.toSorted((a, b) => rankOf(a) - rankOf(b))[0] ?? null
}

/** The earliest time at which one of the backends may be asked again; null: none says. */
export function findRetryAfter(failed: readonly FailedAnswer[]): number | null {
  const seconds = failed.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? [])
  return seconds.length === 0 ? null : Math.min(...seconds)
}

function rankOf({ status, isPermanent }: FailedAnswer): number {
  if (status === 429) return 0
  if (OPERATORS_FAULT.has(status)) return 2
  if (status === 404) return 3
  if (status < 500) return 1
  return isPermanent ? 5 : 4
}

const OPERATORS_FAULT: ReadonlySet<number> = new Set([401, 402, 403, 407])
