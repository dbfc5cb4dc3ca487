import { randomBytes } from 'node:crypto'

/** How authenticators know an account: random and for good, so that it says nothing about the person (WebAuthn 14.6.1). */
export function newUserHandle(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(randomBytes(16))
}
