/**
 * Content that only a vendor can write, because the vendor signs or encrypts it: reasoning, the results of a web
 * search, citations and summaries of a conversation. Local models and translations write such content unsigned, or with
 * a seal of this service (`seals.ts`). Vendors refuse a conversation that contains it, so it is removed before a call
 * passes to a vendor in the vendor's own dialect (`withoutUnsignedContent` of the dialects).
 */
import { isSealed } from './seals.ts'

/**
 * Stands in the place of a signature or of encrypted data where there is no seal. Clients send it back from stored
 * conversations, so it cannot change.
 */
export const UNSIGNED_MARK = 'svc-local-reasoning'

/** Whether this service has written a value in the place of a signature or of encrypted data. */
export function isMarked(value: unknown): boolean {
  return value === UNSIGNED_MARK || isSealed(value)
}
