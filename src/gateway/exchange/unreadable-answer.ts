/** Answers of a backend that the gateway cannot read, although it must. */
import { ApiError } from '../../http/errors.ts'
import type { DialectTraits } from '../dialects/dialect.ts'
import { readFailure } from '../dialects/failures/failure.ts'
import { toFailureAnswer } from './answer.ts'
import type { AnswerHead } from './answer.ts'
import type { Credential, HeaderOptions } from './headers.ts'
import type { Outcome } from './outcome.ts'
import type { RelayedExchange } from './relay.ts'
import { keepFailure } from './reported-failure.ts'
import { reasonOf } from './send.ts'

export const UNREADABLE = {
  compressed: 'The backend compressed its answer, although it was asked not to.',
  too_large: 'The answer of the backend is too large.',
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

/** Whether the body of an answer is compressed. */
export function isCompressed({ headers: { 'content-encoding': encoding = '' } }: AnswerHead): boolean {
  return encoding !== '' && encoding !== 'identity'
}

type Needs = {
  /** The caller's dialect. */
  readonly dialect: Pick<DialectTraits, 'failureAnswer'>
  readonly rewrite: HeaderOptions | null
  /** The service's own credential, which the answer does not show. */
  readonly credential: Credential | null
}

/** Settles an exchange with a compressed error: its status says what has failed, although its body cannot be read. */
export function keepCompressedError(
  exchange: RelayedExchange,
  head: AnswerHead,
  { dialect, rewrite, credential }: Needs,
): void {
  const failure = readFailure(UNREADABLE.compressed, head.status)
  const kept = { head, answer: toFailureAnswer(dialect, failure), headerOptions: rewrite, isReasoningRefused: false }
  keepFailure(exchange, failure, kept, credential)
  exchange.abort()
}

/** The parts of an outcome that say why an answer failed. */
export function explain(error: Error): Pick<Outcome, 'reason' | 'refusal'> {
  const isUnreadable = error instanceof UnreadableAnswer
  return {
    reason: reasonOf(error),
    refusal: isUnreadable ? new ApiError('upstream_failed', { message: error.message }) : null,
  }
}
