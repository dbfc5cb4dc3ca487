import { ApiError } from '../../http/errors.ts'
import { showsMessage } from '../dialects/failures/error-body.ts'
import type { Failure } from '../dialects/failures/failure.ts'
import { findRefusedPart } from '../dialects/refused-parts.ts'
import { toFailureAnswer } from './answer.ts'
import type { KeptAnswer } from './answer.ts'
import { maskCredential } from './credential-refusal.ts'
import type { ExchangeOptions, RelayedExchange } from './relay.ts'

/**
 * `body`: what the backend reported, which passes unchanged where clients find the message in it. Null: the error is
 * written in the words of the caller's dialect.
 */
type Reported = Pick<KeptAnswer, 'head'> & { readonly body: Buffer | null }

export type FailureNeeds = Pick<ExchangeOptions, 'dialect' | 'backendDialect' | 'isTranslated' | 'credential'>

/**
 * Settles an exchange with a failure that the backend reported with another status, such as 200. The caller gets the
 * status for the failure, because agents react to it, such as to 400 for a prompt that is too long, and not to an error
 * in an answer of 200.
 */
export function keepFailure(
  exchange: RelayedExchange,
  failure: Failure,
  { head, body }: Reported,
  { dialect, backendDialect, isTranslated, credential }: FailureNeeds,
): void {
  const made = toFailureAnswer(dialect, failure)
  if (made instanceof ApiError) return exchange.refuse(made)
  const answer = body && showsMessage(body) ? { ...made, body } : made
  maskCredential(answer.body, credential)
  const refusedPart = findRefusedPart(backendDialect.refusedParts, failure)
  exchange.keep({ head, answer, isTranslated, refusedPart })
}
