import type { ServerResponse } from 'node:http'
import type { SnapshotModel } from '../../directory/rules.ts'
import { ApiError } from '../../http/errors.ts'
import { callerOf, ipOf } from '../../http/request.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Backends } from '../backends/backends.ts'
import type { StreamLimit, StreamSlot } from '../limits/streams.ts'
import { explainRefusal, pickModel } from '../models/rules.ts'
import type { FindTeam, ModelTeam } from '../models/rules.ts'
import { toCallSize } from '../spending/estimate.ts'
import type { CallSize } from '../spending/estimate.ts'
import type { SpendingReservation } from '../spending/ledger.ts'
import { findPlacements } from './candidates.ts'
import type { Operation } from './operations.ts'
import { judgeAlternatives } from './request/alternatives.ts'
import { judgeBody } from './request/judge-body.ts'
import { parsedOf, sessionIdOf } from './request/request.ts'
import type { CallRequest } from './request/request.ts'
import { reserveSpending } from './reserve-spending.ts'
import type { SpendingNeeds } from './reserve-spending.ts'

/** A call that may be made. It holds nothing of the request's body, because it lives as long as the answer. */
export type Admission = {
  readonly operation: Operation
  readonly requestId: string
  readonly caller: Caller
  /** One run of an agent; null when the client did not name it. */
  readonly sessionId: string | null
  readonly model: SnapshotModel
  /** The name by which the caller asked for the model, which answers repeat; its id where the caller named none. */
  readonly calledAs: string
  readonly wantsStream: boolean
  readonly size: CallSize
  /** The zone of the team, whose days spending limits count. */
  readonly timeZone: string
  /** Freed when the call has ended; null for a call that does not stream. */
  readonly slot: StreamSlot | null
  /** Released when the call is recorded; null for a call that no spending limit counts. */
  readonly reservation: SpendingReservation | null
}

/** A call that may be made, with its request and the response to its caller. */
export type AdmittedCall = { readonly admission: Admission; readonly req: CallRequest; readonly res: ServerResponse }

export type AdmitNeeds = SpendingNeeds & {
  readonly findTeam: FindTeam
  readonly backends: Backends
  readonly streamLimit: StreamLimit
}

/**
 * Who calls, which model is meant, whether the caller may call it, and whether its limits allow it now. A refusal is
 * the error that the caller gets.
 */
export async function admit(needs: AdmitNeeds, operation: Operation, req: CallRequest): Promise<Admission | ApiError> {
  const { findTeam, backends, streamLimit } = needs
  const caller = callerOf(req)
  const unsendable = judgeBody(operation.dialect, req)
  if (unsendable) return unsendable
  const team = await findTeam(caller)
  const model = team && pickModel(team, req.body.model)
  if (!team || !model) return refuseModel(caller, team, req.body.model)
  const placementsOf = (one: SnapshotModel) => findPlacements(backends, operation, one)
  const refusal = judgeAlternatives({ caller, team, model, placementsOf }, req.body)
  if (refusal) return refusal
  const size = toCallSize(parsedOf(req).bytes.length, req.body, operation.dialect)
  const reservation = await reserveSpending(needs, { operation, caller, model, size })
  if (reservation instanceof ApiError) return reservation
  const wantsStream = req.body.stream === true
  const slot = wantsStream ? await streamLimit.take(caller, ipOf(req)) : null
  if (slot instanceof ApiError) {
    reservation?.release()
    return slot
  }
  const calledAs = req.body.model ?? model.id
  return {
    operation,
    requestId: req.id,
    caller,
    sessionId: sessionIdOf(req.headers),
    model,
    calledAs,
    wantsStream,
    size,
    timeZone: team.timeZone,
    slot,
    reservation,
  }
}

function refuseModel(caller: Caller, team: ModelTeam | null, requested: string | undefined): ApiError {
  const name = requested ?? team?.defaultModel ?? null
  if (team && name === null) {
    return new ApiError('invalid_request', {
      message: 'Name a model, because the team has no default model. GET /v1/models lists the models.',
    })
  }
  return new ApiError('model_not_allowed', { message: explainRefusal(caller, team, name ?? '') })
}
