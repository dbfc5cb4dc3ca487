import type { ServerResponse } from 'node:http'
import { hasBackendList } from '../../directory/serve-entries.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { planCall } from '../plan/plan.ts'
import type { Plan } from '../plan/plan.ts'
import { admit } from './admit.ts'
import type { Admission, AdmitNeeds } from './admit.ts'
import { openSessionAffinity } from './affinity.ts'
import { findCandidates } from './candidates.ts'
import { makeSendCount } from './count/count.ts'
import type { SendCount } from './count/count.ts'
import { chooseEnding, sendEnding } from './ending.ts'
import { OPERATIONS } from './operations.ts'
import type { CallOperationId, Operation } from './operations.ts'
import { recordEnd } from './record.ts'
import type { CallRequest } from './request/request.ts'
import type { SendNeeds } from './send-step.ts'
import { startCallSpan } from './trace.ts'
import { tryInOrder } from './try-in-order.ts'

export type CallNeeds = AdmitNeeds & SendNeeds
type Needs = CallNeeds & { readonly sendCount: SendCount }

/** The handlers of all model calls: what differs between them is in their rows of `OPERATIONS`. */
export function makeCallHandlers(given: Omit<CallNeeds, 'affinity'>): Handlers<CallOperationId> {
  const needs = { ...given, affinity: openSessionAffinity(), sendCount: makeSendCount(given) }
  const handle = (operation: Operation) => (req: CallRequest, res: ServerResponse) =>
    handleCall(needs, operation, req, res)
  const handlers = Object.entries(OPERATIONS).map(([id, operation]) => [id, handle(operation)])
  // One handler for each row, and `OPERATIONS` has a row for each id.
  return Object.fromEntries(handlers) as Handlers<CallOperationId>
}

async function handleCall(needs: Needs, operation: Operation, req: CallRequest, res: ServerResponse): Promise<void> {
  const admission = await admit(needs, operation, req)
  if (admission instanceof ApiError) throw admission
  if (needs.tracer) req.span = startCallSpan(needs.tracer, admission, req)
  if (admission.caller.isOffline) res.setHeader('x-svc-offline', '1')
  const call = { admission, req, res }
  try {
    const candidates = await findCandidates(needs.backends, admission, req.body)
    const plan = planCall(admission, candidates, needs.affinity.find(admission))
    const { writeCount } = operation
    if (writeCount && hasBackendList(admission.model) && cannotCount(plan))
      return await needs.sendCount({ ...call, writeCount }, candidates)
    if (typeof plan === 'string') throw refusePlan(plan, admission)
    const tried = await tryInOrder(needs, call, plan)
    const ending = tried.settledBy ? null : chooseEnding(tried, plan.length)
    recordEnd(needs, call, tried.attempts, tried.settledBy ?? ending?.by ?? null)
    if (ending) sendEnding(res, ending, tried.attempts)
  } finally {
    admission.slot?.free()
    admission.reservation?.release()
  }
}

/** Whether no backend can be asked for a count in the operation's own dialect. */
function cannotCount(plan: Plan): boolean {
  return typeof plan === 'string' ? plan === 'not_supported' : plan.every(({ isReachable }) => !isReachable)
}

function refusePlan(code: 'model_unavailable' | 'not_supported', { operation, model, caller }: Admission): ApiError {
  if (code === 'model_unavailable')
    return new ApiError(code, { message: caller.isOffline ? OFFLINE : explainUnserved(model) })
  if (!hasBackendList(model)) return new ApiError(code)
  const { path, dialect } = operation
  return new ApiError(code, {
    message: `No backend of ${model.id} supports POST ${path}: it needs one that speaks the ${dialect} dialect.`,
  })
}

function explainUnserved(model: Admission['model']): string {
  if (hasBackendList(model))
    return `You may call ${model.id}, but none of its backends can be used on this gateway. Tell the operator.`
  return (
    `You may call ${model.id}, but no backend serves it on this route. The operator can name backends for it in the ` +
    'directory file (serve), which then serve it on every route.'
  )
}

const OFFLINE =
  'Your access token has expired and cannot be renewed now, so only models of the local worker can be called. ' +
  'Connect this gateway to its control plane, or call another model.'
