import { randomUUID } from 'node:crypto'

/** A new unique identifier: the prefix and 32 hexadecimal digits, for example `msg_` and a UUID without hyphens. */
export function newIdentifier(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '')
}
