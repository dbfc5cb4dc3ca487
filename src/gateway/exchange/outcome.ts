import { ApiError } from '../../http/errors.ts'
import type { ErrorCode } from '../../http/errors.ts'
import type { NoAnswer } from './send.ts'

/** How the exchange of one call with one backend ended. */
export type Outcome = {
  /**
   * `whole`: the answer has been handed on. `cut`: it broke off in the middle, and so did the caller's connection.
   * `left`: the caller went away or stopped reading. `ended`: this side ended the call. `refused`: the answer cannot be
   * handed on. The others: there is no answer.
   */
  readonly kind: 'whole' | 'cut' | 'left' | 'ended' | 'refused' | NoAnswer
  /** The caller has got at least the head of an answer, so nothing else can be answered. */
  readonly answered: boolean
  /** The backend's status; null when it did not answer. */
  readonly status: number | null
  /** From sending the request to the first byte of the answer's body. */
  readonly firstByteMs: number | null
  /** Of the answer's body, as the backend sent it. */
  readonly bytes: number
  /** One word for the log. */
  readonly reason: string | null
  /** With `refused`: what the caller gets instead. */
  readonly refusal: ApiError | null
}

/** What the backend did wrong, whether the caller could be told or not. */
export function isFailure({ kind }: Outcome): boolean {
  return FAILURES.has(kind)
}

const FAILURES: ReadonlySet<Outcome['kind']> = new Set(['cut', 'unreachable', 'failed', 'timeout'])

/** Whether a backend that was thought to be ready may not be. */
export function castsDoubt(outcome: Outcome): boolean {
  const status = outcome.status ?? 0
  return isFailure(outcome) || status === 404 || status >= 500
}

/** What the caller gets where it has got no answer; null when it has, or when it has left. */
export function toRefusal(
  { kind, answered, refusal }: Outcome,
  failureCodes: Readonly<Record<NoAnswer, ErrorCode>>,
): ApiError | null {
  if (refusal) return refusal
  if (answered || kind === 'left' || kind === 'whole' || kind === 'cut' || kind === 'refused') return null
  return new ApiError(kind === 'ended' ? 'unauthorized' : failureCodes[kind])
}
