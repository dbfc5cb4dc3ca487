import { randomUUID } from 'node:crypto'

/** A new identifier behind this prefix, unique for ever: `msg_` and 32 hexadecimal digits. */
export function newIdentifier(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '')
}
