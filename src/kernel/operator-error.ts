/** A failure that the operator can resolve. Its message says how, and is all that the command line prints of it. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
}
