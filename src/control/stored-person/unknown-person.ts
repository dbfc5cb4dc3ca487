import { OperatorError } from '../../kernel/operator-error.ts'

export function unknownPerson(email: string): OperatorError {
  return new OperatorError(`No person with the address ${email} is stored.`)
}
