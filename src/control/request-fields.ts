import { ApiError } from '../http/errors.ts'

/**
 * A field that an action or a grant type needs. The contract has one form for all of them, so this throws when it is
 * missing.
 */
export function required<Text extends string>(name: string, value: Text | undefined): Text {
  if (value === undefined) throw new ApiError('invalid_request', { message: `The field ${name} is missing.` })
  return value
}

/** The refusal of a text that is not one email address. */
export const invalidEmail = () =>
  new ApiError('invalid_request', { message: 'The email address is not valid. Send one, such as ada@example.com.' })

/** The refusal of a name in which nothing can be seen. */
export const invalidName = () =>
  new ApiError('invalid_request', { message: 'The field name must have visible characters.' })

/** The number of a form's field; undefined where the form has none. */
export function toNumber(field: string | undefined): number | undefined {
  return field === undefined ? undefined : Number(field)
}
