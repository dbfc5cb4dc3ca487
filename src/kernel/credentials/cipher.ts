/**
 * Encrypts secrets that are kept in the database, with keys that are kept elsewhere: AES-256-GCM with a random nonce of
 * 96 bits (NIST SP 800-38D). The first key encrypts, and all of them decrypt, so that a key can be replaced.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { newKeyMaterial, Secret } from '../secret.ts'

declare const encrypts: unique symbol

/** A key of 32 bytes in base64. */
export type EncryptionKey = Secret & { readonly [encrypts]: true }

const KEY_BYTES = 32

/** Reads a key as people write it: 32 bytes in base64 or base64url; null for any other text. */
export function readEncryptionKey(text: string): EncryptionKey | null {
  const isBase64 = /^[A-Za-z0-9+/_-]+=*$/.test(text)
  return isBase64 && toBytes(text).length === KEY_BYTES ? (new Secret(text) as EncryptionKey) : null
}

/** Makes a random key. */
export function newEncryptionKey(): EncryptionKey {
  return newKeyMaterial() as EncryptionKey
}

export type Encrypted = {
  /** Which key has encrypted it. */
  readonly keyId: string
  /** Nonce, ciphertext and tag. */
  readonly bytes: Uint8Array<ArrayBuffer>
}

export type Cipher = {
  /** The id of the key that encrypts now. */
  readonly keyId: string
  /** `context` says what the secret belongs to. Decrypting needs the same one, so values cannot be swapped. */
  encrypt(secret: Secret, context: string): Encrypted
  /** Null: its key is not among these, or it was changed, or it belongs to another context. */
  decrypt(encrypted: Encrypted, context: string): Secret | null
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Makes a cipher. The first key encrypts. */
export function makeCipher(keys: readonly [EncryptionKey, ...EncryptionKey[]]): Cipher {
  const known = new Map(keys.map(toKey))
  const [keyId, key] = toKey(keys[0])
  return {
    keyId,
    encrypt(secret, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
      const text = Buffer.concat([cipher.update(secret.reveal(), 'utf8'), cipher.final()])
      return { keyId, bytes: new Uint8Array(Buffer.concat([nonce, text, cipher.getAuthTag()])) }
    },
    decrypt({ keyId: id, bytes }, context) {
      const used = known.get(id)
      return used && bytes.length >= NONCE_BYTES + TAG_BYTES ? decryptWith(used, Buffer.from(bytes), context) : null
    },
  }
}

function decryptWith(key: Buffer, bytes: Buffer, context: string): Secret | null {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-TAG_BYTES))
  const text = bytes.subarray(NONCE_BYTES, -TAG_BYTES)
  try {
    return new Secret(Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8'))
  } catch {
    return null
  }
}

function toBytes(text: string): Buffer {
  return Buffer.from(text, 'base64')
}

function toKey(given: EncryptionKey): [id: string, key: Buffer] {
  const key = toBytes(given.reveal())
  return [createHash('sha256').update('svc encryption key id').update(key).digest('hex').slice(0, 16), key]
}
