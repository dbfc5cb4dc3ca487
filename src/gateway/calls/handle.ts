import type { ServerResponse } from 'node:http'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { planCall } from '../plan/plan.ts'
import { admit } from './admit.ts'
import type { AdmitNeeds } from './admit.ts'
import { tryInOrder } from './attempts.ts'
import type { AttemptNeeds } from './attempts.ts'
import { findCandidates } from './candidates.ts'
import { OPERATIONS } from './operations.ts'
import type { CallOperationId, Operation } from './operations.ts'
import { recordEnd } from './record.ts'
import type { CallRequest } from './request.ts'

type Needs = AdmitNeeds & AttemptNeeds

/** The handlers of all model calls: what differs between them is in their rows of `OPERATIONS`. */
export function callHandlers(needs: Needs): Handlers<CallOperationId> {
  const handle = (operation: Operation) => (req: CallRequest, res: ServerResponse) =>
    handleCall(needs, operation, req, res)
  const handlers = Object.entries(OPERATIONS).map(([id, operation]) => [id, handle(operation)])
  // One handler for each row, and `OPERATIONS` has a row for each id.
  return Object.fromEntries(handlers) as Handlers<CallOperationId>
}

async function handleCall(needs: Needs, operation: Operation, req: CallRequest, res: ServerResponse): Promise<void> {
  const admission = await admit(needs, operation, req)
  if (admission instanceof ApiError) throw admission
  try {
    const plan = planCall(operation, await findCandidates(needs.backends, admission, req.body))
    if (typeof plan === 'string') throw new ApiError(plan)
    const { attempts, refusal } = await tryInOrder(needs, admission, plan, req, res)
    recordEnd(needs, admission, attempts)
    if (refusal) throw refusal
  } finally {
    admission.slot?.free()
  }
}
