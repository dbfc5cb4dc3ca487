import { ApiError } from '../../http/errors.ts'

/** A field that an action cannot do without. The contract has one form for all actions, so it cannot require it. */
export function required(name: string, value: string | undefined): string {
  if (value === undefined) throw new ApiError('invalid_request', { message: `${name} is missing.` })
  return value
}
