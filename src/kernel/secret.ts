import { createHash, randomBytes } from 'node:crypto'
import { inspect } from 'node:util'

/** A value that must not be seen: it prints as `[secret]` in logs, strings and JSON. `reveal()` is the one way out. */
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

/** SHA-256 of a secret, base64url: the only form of a random secret that is stored. */
export type SecretHash = string & { readonly [hashed]: true }

/** What a random secret is for; secret scanners and log redaction find it by this prefix. */
export type SecretPrefix = 'svcd_' | 'svcm_' | 'svcs_'

/** A new secret of 256 random bits behind its prefix, base64url. */
export function newSecret(prefix: SecretPrefix): Secret {
  return new Secret(prefix + randomBytes(32).toString('base64url'))
}

/** A plain hash is enough: these secrets have 256 bits, so there is nothing to guess (ASVS 6.5.2). */
export function hashSecret(secret: Secret): SecretHash {
  return createHash('sha256').update(secret.reveal()).digest('base64url') as SecretHash
}

/** 32 random bytes for a key, base64url. */
export function newKeyMaterial(): Secret {
  return new Secret(randomBytes(32).toString('base64url'))
}

/** 32 random bytes to mix into a key; not a secret by itself. */
export function newSalt(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(randomBytes(32))
}
