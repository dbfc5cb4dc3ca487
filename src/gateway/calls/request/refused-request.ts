import { ApiError } from '../../../http/errors.ts'
import type { Refusal } from '../../dialects/refusal.ts'

/** The error for the caller of a request that is refused. It names the parameter. */
export function toRefusedRequest({ param, message, lost }: Refusal): ApiError {
  return new ApiError(lost ?? 'invalid_request', { message: `${param}: ${message}` })
}
