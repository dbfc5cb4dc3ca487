/** Answers of a backend that the gateway cannot read, although it must. */
import { ApiError } from '../../http/errors.ts'
import type { ErrorCode } from '../../http/errors.ts'
import { hasCode } from '../../kernel/error-code.ts'
import type { StreamFailure } from '../dialects/dialect.ts'
import { readFailure } from '../dialects/failures/failure.ts'
import { SseEventTooLarge } from '../dialects/sse/decode.ts'
import type { AnswerHead } from './answer.ts'
import type { Outcome } from './outcome.ts'
import { BACKEND_BROKE_OFF, BACKEND_WAS_SILENT } from './stream-failures.ts'
import type { RelayedExchange } from './relay.ts'
import { keepFailure } from './reported-failure.ts'
import type { FailureNeeds } from './reported-failure.ts'
import { reasonOf } from './send.ts'
import type { NoAnswer } from './send.ts'

export const UNREADABLE = {
  compressed: 'The backend compressed its answer, although it was asked not to.',
  too_large: 'The answer of the backend is too large.',
  unasked_continue:
    'The backend answered with the interim status 100 Continue, although it was not asked to. Switch that off there, ' +
    'or in the proxy in front of it.',
  unasked_upgrade:
    'The backend answered with 101 Switching Protocols, although it was not asked to. Switch that off there, or in ' +
    'the proxy in front of it.',
} as const

/**
 * Thrown inside undici's callbacks: undici then aborts the request and reports this error. The caller gets its message.
 */
export class UnreadableAnswer extends Error {
  readonly code: keyof typeof UNREADABLE

  constructor(code: keyof typeof UNREADABLE) {
    super(UNREADABLE[code])
    this.code = code
  }
}

/** Settles an exchange with a compressed error: its status says what has failed, although its body cannot be read. */
export function keepCompressedError(exchange: RelayedExchange, head: AnswerHead, needs: FailureNeeds): void {
  const failure = readFailure(UNREADABLE.compressed, head.status)
  keepFailure(exchange, failure, { head, body: null }, needs)
  exchange.abort()
}

/** The parts of an outcome that say why there is no answer. An unreadable one has an error code of its own. */
export function explain(error: Error, code: ErrorCode): Pick<Outcome, 'reason' | 'refusal'> {
  const unasked = hasCode(error, 'UND_ERR_SOCKET') ? UNASKED.get(error.message) : undefined
  const cause = unasked ? new UnreadableAnswer(unasked) : error
  return {
    reason: reasonOf(cause),
    refusal: isUnreadable(cause) ? new ApiError('upstream_failed', { message: cause.message }) : new ApiError(code),
  }
}

/** What the caller gets when an error breaks off its answer. */
export function toBreak(kind: NoAnswer, error: Error): StreamFailure {
  if (kind === 'timeout') return BACKEND_WAS_SILENT
  return isUnreadable(error) ? { ...BACKEND_BROKE_OFF, message: error.message } : BACKEND_BROKE_OFF
}

/** Whether the error says that this gateway has stopped reading the answer, and not the backend writing it. */
function isUnreadable(error: Error): boolean {
  return error instanceof UnreadableAnswer || error instanceof SseEventTooLarge
}

/** undici fails on these statuses, with messages that do not name them, and has no setting to accept them. */
const UNASKED: ReadonlyMap<string, keyof typeof UNREADABLE> = new Map([
  ['bad response', 'unasked_continue'],
  ['bad upgrade', 'unasked_upgrade'],
])
