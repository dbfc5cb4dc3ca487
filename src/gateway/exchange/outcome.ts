import type { ApiError } from '../../http/errors.ts'
import type { KeptAnswer } from './answer.ts'
import type { NoAnswer } from './send.ts'

/**
 * How a relay ends. `whole`: the whole answer was relayed. `cut`: the answer broke off, or the backend reported a
 * failure in it. `left`: the caller disconnected or stopped reading. `ended`: this side ended the call.
 */
export type RelayEnd = 'whole' | 'cut' | 'left' | 'ended'

/** How the exchange of one call with one backend ended. */
export type Outcome = {
  /** `refused`: the answer cannot be relayed. `left` and `ended` may also come before there is an answer. */
  readonly kind: RelayEnd | 'refused' | NoAnswer
  /** The caller has received the head of an answer, so no other answer can be sent. */
  readonly answered: boolean
  /** Whether the backend may have received some of the request. */
  readonly isSent: boolean
  /**
   * The backend's own status; where that is below 400 and the answer is or begins with an error, the status for the
   * error. Null when it did not answer.
   */
  readonly status: number | null
  /** The time from sending the request to the first byte of the answer's body; null without one. */
  readonly firstByteMs: number | null
  /** The size of the answer's body as the backend sent it. */
  readonly bytes: number
  /** The cause as one word for the log; null when there is none. */
  readonly reason: string | null
  /** The error for the caller. Null when it has received an answer or has left, and where an error is kept. */
  readonly refusal: ApiError | null
  /** An error answer that was not sent, because another backend may do better. */
  readonly kept: KeptAnswer | null
}

/** The reason of a stream in which the backend has reported a failure itself. */
export const REPORTED = 'reported'

/** The reason of a call that was ended because the memory for answers is full. */
export const NO_ROOM = 'no_room'

/** Whether the backend failed, whether or not the caller has received an error. */
export function isFailure({ kind }: Outcome): boolean {
  return kind === 'cut' || NO_ANSWERS.has(kind)
}

const NO_ANSWERS: ReadonlySet<Outcome['kind']> = new Set<NoAnswer>(['unreachable', 'timeout', 'failed'])

/** Whether the caller has received a whole answer that is not an error. */
export function isSuccess({ kind, status }: Outcome): boolean {
  return kind === 'whole' && status !== null && status < 400
}

/** The outcome in one word: the backend's status, or why there is no answer. */
export function resultOf({ kind, status }: Outcome): string {
  return status === null || NO_ANSWERS.has(kind) ? kind : String(status)
}

/**
 * The status by which an answer is judged: a refusal of the service's credential is 401, whatever the backend's status,
 * and a translated error has the status that the caller would get. Null without an answer.
 */
export function judgedStatusOf({ kind, status, refusal, kept }: Outcome): number | null {
  if (NO_ANSWERS.has(kind)) return null
  return refusal?.code === 'upstream_refused_credential' ? UNAUTHORIZED : (kept?.answer.status ?? status)
}

/** The status of a backend that refuses the service's credential, whatever status it answers with. */
export const UNAUTHORIZED = 401

/** Whether this outcome suggests that the backend is not ready, so that its state should be fetched again. */
export function suggestsUnready(outcome: Outcome): boolean {
  const status = outcome.status ?? 0
  return isFailure(outcome) || status === 404 || status >= 500
}
