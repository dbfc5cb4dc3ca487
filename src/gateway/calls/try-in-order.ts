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
    const attempt = await attemptStep(needs, call, { step, isOnly: steps.length === 1, refusedParts: [] }, attempts)
    if (!attempt || attempt instanceof ApiError) {
      if (attempt) refusals.push(attempt)
      tried.push({ step, result: 'refused' })
      continue
    }
    if (!isTriedNext(attempt.outcome)) break
    tried.push({ step, result: attempt.outcome.kind === 'unreachable' ? 'unreachable' : 'answered' })
  }
  const last = attempts.at(-1)
  const isSettled = last && (last.outcome.answered || last.outcome.kind === 'left')
  return { attempts, settledBy: isSettled ? last : null, refusals }
}

/**
 * Sends a step, and again without each part that its backend refuses. Adds what was sent to `attempts`, and resolves
 * with the last of it; null when there is nothing to send, or no backend any more.
 */
async function attemptStep(
  needs: SendNeeds,
  call: AdmittedCall,
  asked: Omit<Sending, 'backend' | 'earlier'>,
  attempts: Attempt[],
): Promise<Attempt | ApiError | null> {
  const backend = needs.backends.find(asked.step.backend)
  // The directory has lost the backend since the plan was made.
  if (!backend) return null
  const ended = sendStep(needs, call, { ...asked, backend, earlier: attempts })
  if (!ended || ended instanceof ApiError) return ended
  const attempt = await ended
  attempts.push(attempt)
  const part = attempt.outcome.kept?.refusedPart
  if (!part || asked.refusedParts.includes(part)) return attempt
  restoreBody(call.req)
  const again = { ...asked, refusedParts: [...asked.refusedParts, part] }
  return (await attemptStep(needs, call, again, attempts)) ?? attempt
}

function isTriedNext(outcome: Outcome): boolean {
  if (outcome.kind === 'unreachable') return true
  const isHeld = outcome.kept !== null || outcome.kind === 'refused'
  return isHeld && isTriedElsewhere(judgedStatusOf(outcome) ?? 0)
}
