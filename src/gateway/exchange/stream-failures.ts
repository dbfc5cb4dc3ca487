/** Why an answer ends before its end, and how its caller learns that. */
import type { ServerResponse } from 'node:http'
import { ERRORS } from '../../http/errors.ts'
import type { ErrorCode } from '../../http/errors.ts'
import type { StreamFailure } from '../dialects/dialect.ts'
import { TRY_AGAIN } from '../dialects/failures/failure.ts'
import type { FailureKind } from '../dialects/failures/failure.ts'

export const BACKEND_BROKE_OFF = toStreamFailure(
  'failed',
  'upstream_failed',
  `The upstream broke off in the middle of its answer. ${TRY_AGAIN}`,
)

export const BACKEND_WAS_SILENT = toStreamFailure(
  'timeout',
  'upstream_timeout',
  `The upstream fell silent in the middle of its answer. ${TRY_AGAIN}`,
)

export const SERVICE_STOPPED = toStreamFailure(
  'overloaded',
  'service_unavailable',
  `The service stopped before the answer was complete. ${TRY_AGAIN}`,
)

/** Why a call is ended whose caller has lost the access. */
export const ACCESS_ENDED = toStreamFailure(
  'access',
  'unauthorized',
  'Your sign-in or API key was ended while the answer was on its way. Sign in again (svc login), or use another key.',
)

/** Why a call is ended when the memory for answers is full. */
export const MEMORY_FULL = toStreamFailure(
  'overloaded',
  'service_unavailable',
  `Too many large answers are on their way. ${TRY_AGAIN}`,
)

function toStreamFailure(kind: FailureKind, code: ErrorCode, message: string): StreamFailure {
  return { kind, code, type: ERRORS[code].type, message }
}

/** Ends a stream that failed. `isRegular`: its last event, which was written, reports the failure to the caller. */
export function endFailed(res: ServerResponse, isRegular: boolean): void {
  if (isRegular) res.end()
  else breakConnection(res)
}

/**
 * Sends what was written, then closes the connection without the regular end of an HTTP answer, which would look like
 * success.
 */
export function breakConnection(res: ServerResponse): void {
  if (res.socket) res.socket.destroySoon()
  else res.destroy()
}
