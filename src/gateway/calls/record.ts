import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { isKnown } from '../dialects/usage.ts'
import { isFailure, resultOf } from '../exchange/outcome.ts'
import type { CostOf } from '../prices/cost.ts'
import type { Attempt, CallEvent, CallFacts } from '../usage/events.ts'
import type { Admission } from './admit.ts'

export type RecordNeeds = {
  /** Takes an event for metrics, usage and sessions. Must not wait and must not throw, because calls wait for it. */
  readonly recordEvent: (event: CallEvent) => void
  /** The cost of an answer; null when its usage is unknown or the model has no price. */
  readonly costOf: CostOf
  readonly clock: Clock
  readonly log: Logger
}

/** Reports that a request of a call is about to be sent; returns the time. Only calls of a session have this event. */
export function recordStart({ recordEvent, clock }: RecordNeeds, admission: Admission, backend: string): Date {
  const at = clock.now()
  if (admission.sessionId !== null) {
    recordEvent({ kind: 'started', at, call: toFacts(admission, backend), result: null })
  }
  return at
}

/**
 * Reports how a call ended: its last attempt in an event, every failure of a backend in the log. An earlier attempt has
 * an event when its backend counted tokens, because they are billed too.
 */
export function recordEnd(needs: RecordNeeds, admission: Admission, attempts: readonly Attempt[]): void {
  const endedAt = needs.clock.now()
  for (const [at, attempt] of attempts.entries()) {
    logFailure(needs.log, admission, attempt)
    const next = attempts[at + 1]
    if (!next || admission.operation.isCount || !isKnown(attempt.usage)) continue
    recordAttempt(needs, admission, attempt, {
      kind: 'retried',
      from: attempt.sentAt,
      at: next.sentAt,
      tried: [attempt],
    })
  }
  const [first] = attempts
  const last = attempts.at(-1)
  // A call that no backend could be asked has no events.
  if (!first || !last) return
  const { kind, status } = last.outcome
  const isFinished = kind === 'whole' && status !== null && status < 400
  const ending = isFinished ? 'finished' : 'failed'
  recordAttempt(needs, admission, last, { kind: ending, from: first.sentAt, at: endedAt, tried: attempts })
}

function logFailure(log: Logger, { requestId, model }: Admission, { backend, outcome }: Attempt): void {
  const facts = { requestId, model: model.id, servedBy: backend }
  if (isFailure(outcome)) log.warn({ ...facts, ...outcome }, 'call.upstream_failed')
  if (outcome.refusal?.code === 'upstream_refused_credential') {
    log.warn({ ...facts, status: outcome.status }, 'call.credential_refused')
  }
}

type Ending = {
  readonly kind: 'finished' | 'failed' | 'retried'
  readonly from: Date
  readonly at: Date
  readonly tried: readonly Attempt[]
}

function recordAttempt(
  { recordEvent, costOf }: RecordNeeds,
  admission: Admission,
  { backend, backendKind, model, outcome, usage }: Attempt,
  { kind, from, at, tried }: Ending,
): void {
  const result = {
    attempts: tried.map((attempt) => ({ backend: attempt.backend, result: resultOf(attempt.outcome) })),
    outcome: outcome.kind,
    status: outcome.status,
    firstByteMs: outcome.firstByteMs,
    durationMs: at.getTime() - from.getTime(),
    usage,
    isEstimated: outcome.kind !== 'whole' && isKnown(usage),
    costNanoUsd: costOf(admission.model, { backend, kind: backendKind, model }, usage),
  }
  recordEvent({ kind, at, call: toFacts(admission, backend), result })
}

function toFacts(admission: Admission, servedBy: string): CallFacts {
  const { operation, requestId, caller, sessionId, model } = admission
  return { requestId, caller, sessionId, dialect: operation.dialect, model: model.id, servedBy }
}
