import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { isFailure, resultOf } from '../exchange/outcome.ts'
import type { Attempt, CallEvent, CallFacts } from '../usage/events.ts'
import type { Admission } from './admit.ts'

export type RecordNeeds = {
  /** Takes an event for metrics, usage and sessions. Must not wait and must not throw, because calls wait for it. */
  readonly recordEvent: (event: CallEvent) => void
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

/** Reports how a call ended: its last attempt in an event, every failure of a backend in the log. */
export function recordEnd(
  { recordEvent, clock, log }: RecordNeeds,
  admission: Admission,
  attempts: readonly Attempt[],
): void {
  for (const { backend, outcome } of attempts) {
    const facts = { requestId: admission.requestId, model: admission.model.id, servedBy: backend }
    if (isFailure(outcome)) log.warn({ ...facts, ...outcome }, 'call.upstream_failed')
    if (outcome.refusal?.code === 'upstream_refused_credential') {
      log.warn({ ...facts, status: outcome.status }, 'call.credential_refused')
    }
  }
  const [first] = attempts
  const last = attempts.at(-1)
  // A call that no backend could be asked has no events.
  if (!first || !last) return
  const { kind, status, firstByteMs } = last.outcome
  const at = clock.now()
  const durationMs = at.getTime() - first.sentAt.getTime()
  const tried = attempts.map(({ backend, outcome }) => ({ backend, result: resultOf(outcome) }))
  const result = { attempts: tried, outcome: kind, status, firstByteMs, durationMs, usage: last.usage }
  const isFinished = kind === 'whole' && status !== null && status < 400
  recordEvent({ kind: isFinished ? 'finished' : 'failed', at, call: toFacts(admission, last.backend), result })
}

function toFacts(admission: Admission, servedBy: string): CallFacts {
  const { operation, requestId, caller, sessionId, model } = admission
  return { requestId, caller, sessionId, dialect: operation.dialect, model: model.id, servedBy }
}
