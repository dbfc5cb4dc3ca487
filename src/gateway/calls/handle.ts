import type { ServerResponse } from 'node:http'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { planCall, planServed } from '../plan/plan.ts'
import { admit } from './admit.ts'
import type { Admission, AdmitNeeds } from './admit.ts'
import { tryInOrder } from './attempts.ts'
import type { AttemptNeeds } from './attempts.ts'
import { findCandidates } from './candidates.ts'
import { sendEstimate } from './estimate.ts'
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
    const candidates = await findCandidates(needs.backends, admission, req.body)
    const hasServe = admission.model.serve.length > 0
    const plan = hasServe ? planServed(operation, candidates) : planCall(operation, candidates)
    if (plan === 'not_supported' && hasServe && operation.isCount) return sendEstimate(req.body, res)
    if (typeof plan === 'string') throw refusePlan(plan, admission)
    const { attempts, refusal } = await tryInOrder(needs, admission, plan, req, res)
    recordEnd(needs, admission, attempts)
    if (refusal) throw refusal
  } finally {
    admission.slot?.free()
  }
}

function refusePlan(code: 'model_unavailable' | 'not_supported', { operation, model }: Admission): ApiError {
  if (code === 'model_unavailable' || model.serve.length === 0) return new ApiError(code)
  const { path, dialect } = operation
  return new ApiError(code, {
    message: `No backend of ${model.id} supports POST ${path}: it needs one that speaks the ${dialect} dialect.`,
  })
}
