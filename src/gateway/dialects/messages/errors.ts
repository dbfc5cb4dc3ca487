import type { ErrorAnswer } from '../dialect.ts'
import { FAILURES, clientMessageOf } from '../failure-table.ts'
import { type Failure, statusOf, typeOfStatus } from '../failure.ts'
import type { Json } from '../json/read-json.ts'

/** Writes the `error` member of an error body or event. */
export function writeMessagesError(failure: Failure): Json {
  return { type: FAILURES[failure.kind].messagesType, message: toMessage(failure, clientMessageOf(failure)) }
}

/** Writes an engine's own error, with its status and its message. */
export function messagesErrorAnswer(given: number, failure: Failure): ErrorAnswer {
  const status = statusOf(given, failure)
  const error = { type: typeOfStatus(status), message: toMessage(failure, failure.message) }
  return { status, body: { type: 'error', error } }
}

/** Writes the failure of a backend of another dialect. */
export function messagesFailureAnswer(failure: Failure): ErrorAnswer {
  const { status, messagesStatus = status } = FAILURES[failure.kind]
  return { status: messagesStatus, body: { type: 'error', error: writeMessagesError(failure) } }
}

/** Clients look for the vendor's message about a prompt that is too long, and then shorten the conversation. */
function toMessage({ kind }: Failure, message: string): string {
  const isKnown = /^prompt is too long|^input length and/i.test(message)
  return kind === 'context' && !isKnown ? `prompt is too long: ${message}` : message
}
