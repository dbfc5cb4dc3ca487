import { msBetween } from '../../kernel/clock.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { makeDayAt } from '../../spending/periods.ts'
import { isKnown } from '../dialects/tokens/usage.ts'
import { isFailure, isSuccess, judgedStatusOf, NO_ROOM } from '../exchange/outcome.ts'
import type { CostOf } from '../prices/cost.ts'
import { hasUnknownUsage, writeAttempts } from '../usage/events.ts'
import type { CallEvent, CallFacts, CallResult, EndedCallEvent } from '../usage/events.ts'
import { completeUsage } from '../spending/estimate.ts'
import type { Admission } from './admit.ts'
import { toTried } from './attempt.ts'
import type { Attempt } from './attempt.ts'
import type { CallRequest } from './request/request.ts'
import { describeCallEnd } from './trace.ts'

export type RecordNeeds = {
  /** Takes an event for metrics, usage and sessions. Must not wait and must not throw, because calls wait for it. */
  readonly recordEvent: (event: CallEvent) => void
  /** The cost of an answer; null when its usage is unknown or the model has no price. */
  readonly costOf: CostOf
  readonly clock: Clock
  readonly log: Logger
}

/** Reports that the first request of a call is sent to this backend. Only calls of a session have this event. */
export function recordStart({ recordEvent }: RecordNeeds, admission: Admission, backend: string, at: Date): void {
  if (admission.sessionId === null) return
  recordEvent({ kind: 'started', at, call: toFacts(admission, backend), result: null })
}

/**
 * Reports how a call ended: an event with the attempt that answered it, `by`, its span, and every failure of a backend
 * in the log. Another attempt has an event when its backend counted tokens, or may have, because they are billed too.
 */
export function recordEnd(
  needs: RecordNeeds,
  { admission, req }: { readonly admission: Admission; readonly req: Pick<CallRequest, 'span'> },
  attempts: readonly Attempt[],
  by: Attempt | null,
): void {
  const endedAt = needs.clock.now()
  const [first] = attempts
  const answering = by ?? attempts.at(-1)
  const isCount = admission.operation.name === 'count_tokens'
  for (const [index, attempt] of attempts.entries()) {
    logFailure(needs.log, admission, attempt)
    if (attempt === answering || isCount || !mayBeBilled(attempt)) continue
    const at = attempts[index + 1]?.sentAt ?? endedAt
    recordAttempt(needs, admission, attempt, { kind: 'retried', from: attempt.sentAt, at, tried: [attempt] })
  }
  logFallback(needs.log, admission, attempts)
  // A call that no backend could be asked has no events.
  if (!first || !answering) return
  const kind = isSuccess(answering.outcome) ? 'finished' : 'failed'
  const recorded = { kind, from: first.sentAt, at: endedAt, tried: attempts } as const
  const { costNanoUsd } = recordAttempt(needs, admission, answering, recorded)
  if (req.span) describeCallEnd(req.span, answering, { attempts: attempts.length, costNanoUsd })
}

function mayBeBilled(attempt: Attempt): boolean {
  return isKnown(attempt.usage) || mayBeUnreported(attempt)
}

function mayBeUnreported({ usage, outcome: { isSent, status } }: Attempt): boolean {
  return hasUnknownUsage({ usage, isSent, status })
}

function logFailure(log: Logger, { requestId, model }: Admission, { backend, outcome }: Attempt): void {
  const { kind, answered, firstByteMs, bytes, reason, refusal, kept } = outcome
  const judged = judgedStatusOf(outcome) ?? 0
  // The backend's own one, such as that of a redirect.
  const status = kept?.head.status ?? outcome.status
  const facts = { requestId, model: model.id, servedBy: backend, status }
  if (isFailure(outcome) || judged >= SERVER_ERROR) {
    log.warn({ ...facts, kind, answered, firstByteMs, bytes, reason }, 'call.upstream_failed')
  }
  if (reason === NO_ROOM) log.warn({ ...facts, answered, bytes }, 'call.no_room')
  if (refusal?.code === 'upstream_refused_credential') log.warn(facts, 'call.credential_refused')
  else if (SERVICE_REFUSED.has(judged)) log.warn(facts, 'call.backend_refused')
}

const SERVER_ERROR = 500

/** The backend refuses the service's account, or does not know the model. */
const SERVICE_REFUSED: ReadonlySet<number> = new Set([402, 403, 404])

function logFallback(log: Logger, { requestId, model }: Admission, attempts: readonly Attempt[]): void {
  if (attempts.length < 2) return
  log.info({ requestId, model: model.id, attempts: writeAttempts(attempts.map(toTried)) }, 'call.fell_back')
}

/** What an event covers: the whole call, or one attempt of it. */
type Recorded = {
  readonly kind: EndedCallEvent['kind']
  readonly from: Date
  readonly at: Date
  readonly tried: readonly Attempt[]
}

/** The cost of an attempt in 10^-9 USD; null when its usage or its price is unknown. */
function costOfAttempt({ costOf }: RecordNeeds, admission: Admission, attempt: Attempt): number | null {
  const { backend, backendKind: kind, model, serviceTier, usage } = attempt
  return costOf(admission.model, { backend, kind, model, serviceTier }, usage)
}

function recordAttempt(
  needs: RecordNeeds,
  admission: Admission,
  attempt: Attempt,
  { kind, from, at, tried }: Recorded,
): CallResult {
  const { backend, outcome, usage } = attempt
  const costNanoUsd = costOfAttempt(needs, admission, attempt)
  const result = {
    attempts: tried.map(toTried),
    outcome: outcome.kind,
    isSent: outcome.isSent,
    status: outcome.status,
    firstByteMs: outcome.firstByteMs,
    durationMs: msBetween(from, at),
    usage,
    isEstimated: outcome.kind !== 'whole' && isKnown(usage),
    costNanoUsd,
    spent: { day: dayAt(admission.timeZone, at), nanoUsd: countSpent(needs, admission, attempt, costNanoUsd) },
  }
  needs.recordEvent({ kind, at, call: toFacts(admission, backend), result })
  return result
}

const dayAt = makeDayAt()

/**
 * What limits count of an attempt: its cost, with an estimate of what its backend may have billed and not reported. A
 * caller that leaves before the end of its streams must not spend without limit.
 */
function countSpent(needs: RecordNeeds, admission: Admission, attempt: Attempt, costNanoUsd: number | null): number {
  const { usage, outcome, unreportedBytes } = attempt
  const isPartial = isKnown(usage) ? outcome.kind !== 'whole' : mayBeUnreported(attempt)
  if (!isPartial) return costNanoUsd ?? 0
  const completed = { ...attempt, usage: completeUsage(usage, admission.size, unreportedBytes) }
  return costOfAttempt(needs, admission, completed) ?? 0
}

function toFacts(admission: Admission, servedBy: string): CallFacts {
  const { operation, requestId, caller, sessionId, model } = admission
  return { requestId, caller, sessionId, dialect: operation.dialect, model: model.id, servedBy }
}
