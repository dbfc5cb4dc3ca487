import { ApiError } from '../../http/errors.ts'
import { judgedStatusOf } from '../exchange/outcome.ts'
import type { Outcome } from '../exchange/outcome.ts'
import { chooseNext, isTriedElsewhere } from '../plan/next-step.ts'
import type { TriedStep } from '../plan/next-step.ts'
import type { Step } from '../plan/plan.ts'
import type { AdmittedCall } from './admit.ts'
import type { Attempt } from './attempt.ts'
import { restoreBody } from './request/request.ts'
import { sendStep } from './send-step.ts'
import type { Sending, SendNeeds } from './send-step.ts'

/** What trying the steps of a plan has come to. */
export type TriedPlan = {
  /** What was sent, in order. */
  readonly attempts: readonly Attempt[]
  /** The attempt that has settled the call: the caller has got its answer, or has left. Null: all have failed. */
  readonly settledBy: Attempt | null
  /** Why backends were not called: each error names what the request asks and the backend cannot do. */
  readonly refusals: readonly ApiError[]
}

/**
 * Tries the steps of a plan until one of them has answered. The next one is tried after an error that another backend
 * may not have, and only while the caller has no byte. A request that a backend has taken without an answer may have
 * been carried out, so it is never sent again. A backend that refuses a part of a request gets it again without that
 * part (`RefusedPart`), because it has generated nothing.
 */
export async function tryInOrder(needs: SendNeeds, call: AdmittedCall, steps: readonly Step[]): Promise<TriedPlan> {
  const attempts: Attempt[] = []
  const refusals: ApiError[] = []
  const tried: TriedStep[] = []
  for (let step = chooseNext(steps, tried); step; step = chooseNext(steps, tried)) {
    const sending = { step, isOnly: steps.length === 1, refusedParts: [], earlier: attempts }
    const { sent, refusal } = await attemptStep(needs, call, sending)
    attempts.push(...sent)
    if (refusal) refusals.push(refusal)
    const ended = refusal ? undefined : sent.at(-1)
    if (ended && !isTriedNext(ended.outcome)) break
    const result = ended?.outcome.kind === 'unreachable' ? 'unreachable' : 'answered'
    tried.push({ step, result: ended ? result : 'refused' })
  }
  const last = attempts.at(-1)
  const isSettled = last && (last.outcome.answered || last.outcome.kind === 'left')
  return { attempts, settledBy: isSettled ? last : null, refusals }
}

/** What was sent of a step, and what its backend cannot be asked. Neither: the backend is gone. */
type TriedSending = { readonly sent: readonly Attempt[]; readonly refusal: ApiError | null }

/** Sends a step, and again without each part that its backend refuses. */
async function attemptStep(
  needs: SendNeeds,
  call: AdmittedCall,
  sending: Omit<Sending, 'backend'>,
): Promise<TriedSending> {
  const backend = needs.backends.find(sending.step.backend)
  // The directory has lost the backend since the plan was made.
  const ended = backend && sendStep(needs, call, { ...sending, backend })
  if (!ended || ended instanceof ApiError) return { sent: [], refusal: ended }
  const attempt = await ended
  const part = attempt.outcome.kept?.refusedPart
  if (!part || sending.refusedParts.includes(part)) return { sent: [attempt], refusal: null }
  restoreBody(call.req)
  const earlier = [...sending.earlier, attempt]
  const again = await attemptStep(needs, call, { ...sending, earlier, refusedParts: [...sending.refusedParts, part] })
  return { ...again, sent: [attempt, ...again.sent] }
}

function isTriedNext(outcome: Outcome): boolean {
  if (outcome.kind === 'unreachable') return true
  const isHeld = outcome.kept !== null || outcome.kind === 'refused'
  return isHeld && isTriedElsewhere(judgedStatusOf(outcome) ?? 0)
}
