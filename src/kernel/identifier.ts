import { randomBytes, randomUUID } from 'node:crypto'

/** A new unique identifier: the prefix and 32 hexadecimal digits, for example `msg_` and a UUID without hyphens. */
export function newIdentifier(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '')
}

/** A new id of a row: a UUID of version 7. */
export function newRowId(now: Date): string {
  return newRowIds(1, now).join()
}

/** New ids of rows, in ascending order: UUIDs of version 7 with a counter of 24 bits (RFC 9562, section 6.2). */
export function newRowIds(count: number, now: Date): string[] {
  const time = now.getTime().toString(16).padStart(12, '0')
  const random = randomBytes(6 * count).toString('hex')
  return Array.from({ length: count }, (_, at) => {
    const counter = at.toString(16).padStart(6, '0')
    const [high, low] = [counter.slice(0, 3), counter.slice(3)]
    return `${time.slice(0, 8)}-${time.slice(8)}-7${high}-8${low}-${random.slice(12 * at, 12 * (at + 1))}`
  })
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
