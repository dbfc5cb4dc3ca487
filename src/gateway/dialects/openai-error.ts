import type { ErrorAnswer } from './dialect.ts'
import { type Failure, statusOf, typeOfStatus } from './failure.ts'
import { isObject } from './json/read-json.ts'

/** The error body that the chat and the responses dialect share. */
export function errorAnswer(given: number, failure: Failure): ErrorAnswer {
  const status = statusOf(given, failure)
  const code = failure.kind === 'context' ? 'context_length_exceeded' : null
  return { status, body: { error: { message: failure.message, type: typeOfStatus(status), param: null, code } } }
}

export function isErrorBody(body: unknown): boolean {
  return isObject(body) && isObject(body.error)
}
