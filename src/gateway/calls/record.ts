import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { isFailure } from '../exchange/outcome.ts'
import type { Outcome } from '../exchange/outcome.ts'
import { toTried, writeAttempts } from '../usage/events.ts'
import type { Attempt, CallEvent, CallFacts } from '../usage/events.ts'
import type { Admission } from './admit.ts'

export type RecordNeeds = {
  /** Takes an event for metrics, usage and sessions. Must not wait and must not throw, because calls wait for it. */
  readonly recordEvent: (event: CallEvent) => void
  readonly clock: Clock
  readonly log: Logger
}

/** Reports that the first request of a call is sent to this backend. Only calls of a session have this event. */
export function recordStart({ recordEvent }: RecordNeeds, admission: Admission, backend: string, at: Date): void {
  if (admission.sessionId === null) return
  recordEvent({ kind: 'started', at, call: toFacts(admission, backend), result: null })
}

/**
 * Reports how a call ended: an event with the attempt that the caller's answer is from, and every failure of a backend
 * in the log.
 */
export function recordEnd(
  { recordEvent, clock, log }: RecordNeeds,
  admission: Admission,
  attempts: readonly Attempt[],
  by: Attempt | null,
): void {
  const { requestId, model } = admission
  for (const { backend, outcome } of attempts)
    logAttempt(log, { requestId, model: model.id, servedBy: backend }, outcome)
  const tried = attempts.map(toTried)
  if (tried.length > 1) log.info({ requestId, model: model.id, attempts: writeAttempts(tried) }, 'call.retried')
  const [first] = attempts
  const answering = by ?? attempts.at(-1)
  // A call that no backend could be asked has no events.
  if (!first || !answering) return
  const { kind, status, firstByteMs } = answering.outcome
  const at = clock.now()
  const durationMs = at.getTime() - first.sentAt.getTime()
  const result = { attempts: tried, outcome: kind, status, firstByteMs, durationMs, usage: answering.usage }
  const isFinished = kind === 'whole' && status !== null && status < 400
  recordEvent({ kind: isFinished ? 'finished' : 'failed', at, call: toFacts(admission, answering.backend), result })
}

function logAttempt(log: Logger, facts: object, outcome: Outcome): void {
  const { kept, ...ending } = outcome
  if (isFailure(outcome)) log.warn({ ...facts, ...ending }, 'call.upstream_failed')
  if (outcome.refusal?.code === 'upstream_refused_credential') {
    log.warn({ ...facts, status: outcome.status }, 'call.credential_refused')
  } else if (isOperatorsFault(outcome)) {
    log.warn({ ...facts, status: outcome.status }, 'call.backend_refused')
  }
}

/** The backend refused the service's account or does not know the model, and the next one was tried. */
function isOperatorsFault({ kept }: Outcome): boolean {
  return kept !== null && [402, 403, 404].includes(kept.answer.status)
}

function toFacts(admission: Admission, servedBy: string): CallFacts {
  const { operation, requestId, caller, sessionId, model } = admission
  return { requestId, caller, sessionId, dialect: operation.dialect, model: model.id, servedBy }
}
