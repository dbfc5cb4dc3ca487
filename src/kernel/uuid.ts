/** The UUID of zeros (RFC 9562, section 5.9). It is less than every id of a row, and no row has it. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000'

/** Whether a text is a UUID in its usual form, with hyphens. The database refuses any other text as an id. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
