import { FAILURES, clientMessageOf } from '../failures/failure-table.ts'
import type { Failure } from '../failures/failure.ts'
import type { Json } from '../json/read-json.ts'

/** Writes the `error` member of a failed response. */
export function writeResponsesError(failure: Failure): Json {
  return { code: FAILURES[failure.kind].streamCode, message: clientMessageOf(failure) }
}
