import { parseError } from '../dialects/failures/error-body.ts'
import { readFailure } from '../dialects/failures/failure.ts'
import type { Failure } from '../dialects/failures/failure.ts'
import { isCompressed } from './answer.ts'
import type { AnswerHead } from './answer.ts'
import type { Credential } from './headers.ts'

/** Statuses of a refused credential. A request to a backend has only the credential of this service. */
const REFUSING_STATUSES: ReadonlySet<number> = new Set([401, 407])

/** These have other reasons too, so the body decides: some vendors answer 400 to a key that they do not know. */
const AMBIGUOUS_STATUSES: ReadonlySet<number> = new Set([400, 403])

/** What vendors say of a key that has too few rights, where the type and the code of the error do not tell. */
const ABOUT_CREDENTIAL = /\bapi[ _-]?key\b|\bmissing scopes?\b|\b(bearer|access|auth\w*) token\b|\bcredentials?\b/i

/** What vendors say of a wrong key with status 400. Only at the start, because a 400 may quote the request. */
const INVALID_KEY =
  /^(incorrect|invalid|expired) api[ _]key\b|^api[ _]key (is )?(not valid|not found|invalid|expired)\b/i

/**
 * Whether an error answer refuses the service's own credential at a backend. Its text never reaches a caller, because
 * vendors repeat parts of the credential. Its status never does either: the caller's own credential is good, and
 * clients delete theirs at a 401. A compressed 403 counts as a refusal, because it cannot be read.
 */
export function isCredentialRefused(head: AnswerHead, body: Buffer): boolean {
  const { status } = head
  if (REFUSING_STATUSES.has(status)) return true
  if (!AMBIGUOUS_STATUSES.has(status)) return false
  if (status === 403 && isCompressed(head)) return true
  const { kind, message } = readFailure(parseError(body))
  return kind === 'account' || (status === 403 ? ABOUT_CREDENTIAL : INVALID_KEY).test(message)
}

/** 412: Fireworks. */
const WRONG_REQUEST: ReadonlySet<number> = new Set([400, 412])

/**
 * Returns the failure of an answer that calls the request wrong, although the service's account is used up, or the
 * operator's name of the model is wrong; null for any other answer. Another backend has another account and name.
 */
export function readOperatorsFault({ status }: AnswerHead, body: Buffer): Failure | null {
  if (!WRONG_REQUEST.has(status)) return null
  const failure = readFailure(parseError(body), status)
  return failure.kind === 'quota' || failure.kind === 'notFound' ? failure : null
}

/** Shorter ones are words such as `ollama`, which a server of the operator takes and which its errors may contain. */
const MIN_SECRET_LENGTH = 8

const ASTERISK = 0x2a

/**
 * Overwrites the service's own credential in an error of a backend. Vendors shorten it, but a server that shows the
 * headers of a request it does not understand repeats all of it.
 */
export function maskCredential(body: Buffer, credential: Credential | null): void {
  const secret = Buffer.from(credential?.secret.reveal() ?? '')
  // People paste masked keys. These would be found again where they were overwritten.
  const isMask = secret.every((byte) => byte === ASTERISK)
  if (secret.length < MIN_SECRET_LENGTH || isMask) return
  for (let at = body.indexOf(secret); at !== -1; at = body.indexOf(secret, at))
    body.fill(ASTERISK, at, at + secret.length)
}
