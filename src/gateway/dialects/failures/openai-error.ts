import type { ErrorAnswer } from '../dialect.ts'
import type { Json } from '../json/read-json.ts'
import { FAILURES, clientMessageOf } from './failure-table.ts'
import { statusOf, typeOfStatus } from './failure.ts'
import type { Failure } from './failure.ts'

/** Writes a backend's own error in the form that the chat and the responses dialect share. */
export function openAiErrorAnswer(given: number, failure: Failure, own: Json = {}): ErrorAnswer {
  const status = statusOf(given, failure)
  const error = { message: failure.message, type: typeOfStatus(status), param: null, code: null, ...own }
  const code = failure.kind === 'context' ? 'context_length_exceeded' : error.code
  return { status, body: { error: { ...error, message: failure.message, code } } }
}

/** Writes the failure of a backend of another dialect. */
export function openAiFailureAnswer(failure: Failure): ErrorAnswer {
  return { status: FAILURES[failure.kind].status, body: { error: writeOpenAiError(failure) } }
}

/** Writes the `error` member of an error body or chunk. */
export function writeOpenAiError(failure: Failure): Json {
  const { type, code } = FAILURES[failure.kind]
  return { message: clientMessageOf(failure), type, param: null, code }
}
