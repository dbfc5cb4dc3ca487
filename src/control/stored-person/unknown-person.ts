import { OperatorError } from '../../kernel/operator-error.ts'

/** The error for an address that no account has. */
export function unknownPerson(email: string): OperatorError {
  return new OperatorError(`No person with the address ${email} is stored.`)
}
