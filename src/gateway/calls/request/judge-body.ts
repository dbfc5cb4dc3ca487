import { ApiError } from '../../../http/errors.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import { DIALECTS } from '../../dialects/dialects.ts'
import { findAmbiguous } from './decisive-members.ts'
import { toRefusedRequest } from './refused-request.ts'
import { parsedOf } from './request.ts'
import type { CallRequest } from './request.ts'

/** Why no backend may get a body in a dialect, whatever the caller may do; null: it may be sent. */
export function judgeBody(dialect: Dialect, req: CallRequest): ApiError | null {
  const ambiguous = findAmbiguous(req.body, parsedOf(req).located)
  if (ambiguous !== null) return ambiguousBody(ambiguous)
  const refusal = DIALECTS[dialect].judgeRequest(req.body)
  return refusal && toRefusedRequest(refusal)
}

function ambiguousBody(member: string): ApiError {
  return new ApiError('invalid_request', {
    message:
      `${JSON.stringify(member)} is in the body twice, or is another spelling of a field that decides the call. ` +
      'Send each field once, spelled as in the contract.',
  })
}
