import { createHash, randomBytes, randomUUID } from 'node:crypto'

/** A new unique identifier: the prefix and 32 hexadecimal digits, for example `msg_` and a UUID without hyphens. */
export function newIdentifier(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '')
}

/** The last id that `newRowId` made: its time, and its number within that millisecond. */
let last = { ms: 0, counter: 0 }

/** A new id of a row. Those of this process are in ascending order while `now` does not go back. */
export function newRowId(now: Date): string {
  const ms = now.getTime()
  last = { ms, counter: ms === last.ms ? last.counter + 1 : 0 }
  return toRowId(ms, last.counter, randomBytes(6).toString('hex'))
}

/** New ids of rows, in ascending order. */
export function newRowIds(count: number, now: Date): string[] {
  const random = randomBytes(6 * count).toString('hex')
  return Array.from({ length: count }, (_, at) => toRowId(now.getTime(), at, random.slice(12 * at, 12 * (at + 1))))
}

/** A UUID of version 7 with a counter of 24 bits (RFC 9562, section 6.2) and 48 random bits. */
function toRowId(ms: number, counter: number, random: string): string {
  const time = ms.toString(16).padStart(12, '0')
  const digits = counter.toString(16).padStart(6, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${digits.slice(0, 3)}-8${digits.slice(3)}-${random}`
}

/** A new id of a form. It is random, because the secret of a key depends on it. */
export function newFormId(): string {
  return randomUUID()
}

/** The id of a row that these texts always lead to: a UUID of version 8 (RFC 9562, section 5.8) of their hash. */
export function rowIdOf(...texts: readonly string[]): string {
  const hex = createHash('sha256').update(JSON.stringify(texts)).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** The permanent id by which authenticators know an account. It is random, so it reveals nothing (WebAuthn, 14.6.1). */
export function newUserHandle(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(randomBytes(16))
}

/** The UUID of zeros (RFC 9562, section 5.9). It is less than every id of a row, and no row has it. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000'

/** Whether a text is a UUID in its usual form, with hyphens. The database refuses any other text as an id. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
