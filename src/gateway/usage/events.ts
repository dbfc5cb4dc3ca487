/**
 * The events of model calls: a call has started, and a call has ended. They never contain prompts or answers. A call
 * that was refused before it was sent has no event; the request log has it. Calls of a session also have an event for
 * their start, so that people who watch the session see a call while it runs.
 */
import type { Caller } from '../../kernel/caller.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { isKnown } from '../dialects/tokens/usage.ts'
import type { Usage } from '../dialects/tokens/usage.ts'
import type { Outcome } from '../exchange/outcome.ts'

/** What is known of a call when it is sent. */
export type CallFacts = {
  readonly requestId: string
  readonly caller: Caller
  /** One run of an agent; null when the client did not name it. */
  readonly sessionId: string | null
  /** The caller's dialect. */
  readonly dialect: Dialect
  /** The service's model id. */
  readonly model: string
  readonly servedBy: string
}

/** A backend that was tried, and its answer in one word: a status, or why there was none. */
export type TriedBackend = { readonly backend: string; readonly result: string }

/** How a call ended, or one request of it to a backend. */
export type CallResult = {
  /** The backends that were tried, in order; the answer is from one of them, or from none. */
  readonly attempts: readonly TriedBackend[]
  readonly outcome: Outcome['kind']
  /** Whether the backend may have received some of the request. */
  readonly isSent: boolean
  /** The backend's status; null when it did not answer. */
  readonly status: number | null
  readonly firstByteMs: number | null
  readonly durationMs: number
  readonly usage: Usage
  /** The answer was not complete, so `usage` is what the backend reported last. */
  readonly isEstimated: boolean
  /** In 10^-9 USD; null when the usage is unknown or the model has no price. */
  readonly costNanoUsd: number | null
  readonly spent: SpentByCall
}

/** What spending limits count of a call. */
export type SpentByCall = {
  /** The day in the time zone of the team. */
  readonly day: string
  /** In 10^-9 USD: the cost, or an estimate where the usage is unknown. 0 for a model without a price. */
  readonly nanoUsd: number
}

/**
 * The end of a call. `finished`: the caller received a whole answer that is not an error. `failed`: every other end,
 * for example a caller that disconnected; `outcome` and `status` have the cause. `retried`: a backend counted tokens,
 * or may have, but the caller gets the answer of another one, whose event follows.
 */
export type EndedCallEvent = {
  readonly kind: 'finished' | 'failed' | 'retried'
  readonly at: Date
  readonly call: CallFacts
  readonly result: CallResult
}

export type CallEvent =
  { readonly kind: 'started'; readonly at: Date; readonly call: CallFacts; readonly result: null } | EndedCallEvent

/** Whether a backend may have billed tokens that it has not reported: it got the request and did not refuse. */
export function hasUnknownUsage({ usage, isSent, status }: Pick<CallResult, 'usage' | 'isSent' | 'status'>): boolean {
  if (isKnown(usage)) return false
  return status === null ? isSent : status < 400
}

/** Whether the tokens are known, but not their price. */
export function isUnpriced({ usage, costNanoUsd }: Pick<CallResult, 'usage' | 'costNanoUsd'>): boolean {
  return isKnown(usage) && costNanoUsd === null
}

/** Writes attempts as in the header `x-svc-attempts`: `vendorb=529,vendorb-eu=200`. */
export function writeAttempts(attempts: readonly TriedBackend[]): string {
  return attempts.map(({ backend, result }) => `${backend}=${result}`).join(',')
}

/** Events that are saved together. With the id, saving a batch is idempotent, so it can be repeated after a failure. */
export type EventBatch = { readonly id: string; readonly events: readonly CallEvent[] }
