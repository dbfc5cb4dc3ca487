/**
 * The events of model calls: a call has started, and how it ended. They never hold what was asked or answered. A call
 * that was refused before it was sent has no event; the request log has it. The start is an event of its own, so that
 * people who watch a session see a call while it runs. Only calls that belong to a session have one.
 */
import type { Caller } from '../../kernel/caller.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Usage } from '../dialects/usage-scanner.ts'
import type { Outcome } from '../exchange/outcome.ts'

export type CallFacts = {
  readonly requestId: string
  readonly caller: Caller
  /** One run of an agent; null when the client did not name it. */
  readonly sessionId: string | null
  /** The caller's. */
  readonly dialect: Dialect
  /** The service's model id. */
  readonly model: string
  readonly servedBy: string
}

/** One backend that a call was sent to. */
export type Attempt = {
  readonly backend: string
  readonly sentAt: Date
  readonly outcome: Outcome
  readonly usage: Usage
}

export type CallResult = {
  readonly outcome: Outcome['kind']
  /** The backend's status; null when it did not answer. */
  readonly status: number | null
  readonly firstByteMs: number | null
  readonly durationMs: number
  readonly usage: Usage
}

/**
 * `finished`: a whole answer that is no error. `failed`: anything else, also a caller that left; `outcome` and `status`
 * say what.
 */
export type CallEvent =
  | { readonly kind: 'started'; readonly at: Date; readonly call: CallFacts; readonly result: null }
  | { readonly kind: 'finished' | 'failed'; readonly at: Date; readonly call: CallFacts; readonly result: CallResult }

/** Events that are saved together. The id lets a batch be saved again when it is not known whether it was saved. */
export type EventBatch = { readonly id: string; readonly events: readonly CallEvent[] }
