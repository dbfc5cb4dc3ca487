import { createHash, createHmac, randomBytes } from 'node:crypto'
import { inspect } from 'node:util'

/** A value that prints as `[secret]` in logs, strings and JSON. Only `reveal()` returns the value itself. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}

declare const hashed: unique symbol

/** SHA-256 of a secret, base64url: the only form in which a random secret is stored. */
export type SecretHash = string & { readonly [hashed]: true }

/** Names the purpose of a random secret. Secret scanners and the log's redaction recognize secrets by this prefix. */
export type SecretPrefix = 'svcd_' | 'svci_' | 'svcm_' | 'svcs_'

/** A new secret: the prefix and 256 random bits, base64url. */
export function newSecret(prefix: SecretPrefix): Secret {
  return new Secret(prefix + randomBytes(32).toString('base64url'))
}

/** Hashes a random secret without a salt, which is enough for 256 random bits (ASVS 6.5.2). */
export function hashSecret(secret: Secret): SecretHash {
  return createHash('sha256').update(secret.reveal()).digest('base64url') as SecretHash
}

/** 32 random bytes for use as a key, base64url. */
export function newKeyMaterial(): Secret {
  return new Secret(randomBytes(32).toString('base64url'))
}

/** Derives 32 bytes for use as a key, base64url (HMAC-SHA-256). They do not reveal the secret. */
export function deriveKeyMaterial(secret: Secret, purpose: string): Secret {
  return new Secret(createHmac('sha256', secret.reveal()).update(purpose).digest('base64url'))
}

/** 32 random bytes that are mixed into a key; they need not be kept secret. */
export function newSalt(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(randomBytes(32))
}
