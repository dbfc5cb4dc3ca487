import { randomBytes } from 'node:crypto'

/** The permanent id by which authenticators know an account. It is random, so it reveals nothing (WebAuthn, 14.6.1). */
export function newUserHandle(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(randomBytes(16))
}
