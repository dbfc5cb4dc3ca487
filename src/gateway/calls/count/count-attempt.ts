import { ApiError } from '../../../http/errors.ts'
import { msBetween } from '../../../kernel/clock.ts'
import type { Backend } from '../../backends/backend.ts'
import { DIALECTS } from '../../dialects/dialects.ts'
import { parseObject, readCount } from '../../dialects/json/read-json.ts'
import { FREE_USAGE } from '../../dialects/tokens/usage.ts'
import type { Outcome } from '../../exchange/outcome.ts'
import { sendAndWait } from '../../exchange/send.ts'
import type { BackendReply } from '../../exchange/send.ts'
import type { Candidate } from '../../plan/candidate.ts'
import { toStep } from '../../plan/plan.ts'
import type { AdmittedCall } from '../admit.ts'
import type { Attempt } from '../attempt.ts'
import type { Observed } from '../answer-observer.ts'
import { prepareCount } from '../prepare/prepare-translated.ts'
import type { CallStep } from '../prepare/prepared-call.ts'
import { endAttemptSpan, traceAttempt } from '../trace.ts'
import type { TraceNeeds } from '../trace.ts'

/** Agents count before they send, so a count that takes longer is not worth waiting for. */
const LIMITS = { timeoutMs: 5_000, maxBytes: 64 * 1024 }

/** `unable`: the backend counts no request to this model. `failed`: it did not count this one. */
type Counted = { readonly attempt: Attempt; readonly tokens: number | 'unable' | 'failed' }

/**
 * Asks a backend to count the tokens of a request. Null: it cannot be asked. `signal` is aborted when the caller has
 * left.
 */
export async function attemptCount(
  needs: TraceNeeds & Pick<CallStep, 'sealSecrets' | 'clock'>,
  { admission, req }: AdmittedCall,
  { backend, candidate }: { readonly backend: Backend; readonly candidate: Candidate },
  signal: AbortSignal,
): Promise<Counted | null> {
  const { operation } = admission
  const { sealSecrets, clock } = needs
  const dialect = candidate.dialects.find((one) => DIALECTS[one].tokenCount)
  if (!dialect) return null
  const step = toStep({ ...candidate, dialect })
  const prepared = prepareCount({ admission, step, backend, sealSecrets, clock, refusedParts: [] }, req)
  if (!prepared || prepared instanceof ApiError) return null
  const { span, request } = traceAttempt(needs, { operation, backend, step, request: prepared }, req)
  const sentAt = clock.now()
  const reply = await sendAndWait(backend.pool, request, { ...LIMITS, signal })
  const outcome = toOutcome(reply, msBetween(sentAt, clock.now()))
  const { name, kind: backendKind } = backend
  const attempt = { backend: name, backendKind, model: step.model, sentAt, outcome, ...NOTHING_USED }
  // Every other failure may be one of counting alone, such as a server without that route.
  if (reply.kind === 'unreachable') backend.condition.noteEnd(step.model, outcome)
  if (span) endAttemptSpan(span, attempt)
  return { attempt, tokens: readTokens(reply) }
}

function readTokens(reply: BackendReply): Counted['tokens'] {
  if (reply.kind !== 'answered') return 'failed'
  const answer = reply.status === 200 ? parseObject(reply.body.toString()) : null
  return readCount(answer?.input_tokens) ?? (UNABLE.has(reply.status) ? 'unable' : 'failed')
}

const NOTHING_USED: Observed = {
  serviceTier: 'standard',
  usage: FREE_USAGE,
  unreportedBytes: 0,
  metadata: null,
}

/** The caller gets no byte of the reply itself. */
function toOutcome(reply: BackendReply, firstByteMs: number): Outcome {
  const none = { answered: false, isSent: reply.kind !== 'unreachable', refusal: null, kept: null }
  return reply.kind === 'answered'
    ? { ...none, kind: 'whole', status: reply.status, firstByteMs, bytes: reply.body.length, reason: null }
    : { ...none, kind: reply.kind, status: null, firstByteMs: null, bytes: 0, reason: reply.reason }
}

/** How servers without such a route answer. Some answer 200 to any path. */
const UNABLE: ReadonlySet<number> = new Set([200, 404, 405, 501])
