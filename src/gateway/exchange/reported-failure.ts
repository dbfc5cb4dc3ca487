import { ApiError } from '../../http/errors.ts'
import type { Failure } from '../dialects/failures/failure.ts'
import { toFailureAnswer } from './answer.ts'
import type { KeptAnswer } from './answer.ts'
import { maskCredential } from './credential-refusal.ts'
import type { Credential } from './headers.ts'
import type { ExchangeOptions, RelayedExchange } from './relay.ts'

/**
 * Settles an exchange with a failure that the backend reported after a status of 200. `kept` has the status for the
 * failure, because agents react to the status of an error, such as 400 for a prompt that is too long, and not to an
 * error in an answer of 200. `credential`: the service's own, which the answer does not show.
 */
export function keepFailure(
  exchange: RelayedExchange,
  failure: Failure,
  kept: KeptAnswer,
  credential: Credential | null,
): void {
  if (failure.kind === 'account') {
    exchange.refuse(new ApiError('upstream_refused_credential'))
  } else {
    maskCredential(kept.answer.body, credential)
    exchange.keep(kept)
  }
}

export type FailureNeeds = Pick<ExchangeOptions, 'dialect' | 'rewrite' | 'credential'>

/** Settles an exchange with a failure, written in the caller's dialect in place of what the backend sent. */
export function keepFailureInDialect(
  exchange: RelayedExchange,
  failure: Failure,
  { head, isReasoningRefused }: Pick<KeptAnswer, 'head' | 'isReasoningRefused'>,
  { dialect, rewrite, credential }: FailureNeeds,
): void {
  const answer = toFailureAnswer(dialect, failure)
  const kept = { head, answer, isTranslated: rewrite?.isTranslated ?? false, isReasoningRefused }
  keepFailure(exchange, failure, kept, credential)
}
