import { ApiError } from '../../http/errors.ts'

/** A field that an action cannot do without. The contract has one form for all actions, so it cannot require it. */
export function required<Text extends string>(name: string, value: Text | undefined): Text {
  if (value === undefined) throw new ApiError('invalid_request', { message: `${name} is missing.` })
  return value
}
