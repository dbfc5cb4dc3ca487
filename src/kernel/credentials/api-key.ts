/**
 * The form of API keys: `svck_`, 256 random bits in base64url, and six characters of checksum. By the checksum, secret
 * scanners recognize a key without asking the service, and a mistyped key is refused without a query.
 */
import { crc32 } from 'node:zlib'
import { newKeyMaterial, Secret } from '../secret.ts'

const PREFIX = 'svck_'
const RANDOM_CHARACTERS = 43
const CHECKSUM_CHARACTERS = 6
const LENGTH = PREFIX.length + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS

/** How many characters of a key are shown in lists. */
const SHOWN_CHARACTERS = PREFIX.length + 4

/** Makes a new API key. `material`: 256 bits, base64url. */
export function newApiKey(material = newKeyMaterial()): Secret {
  const body = PREFIX + material.reveal()
  return new Secret(body + checksumOf(body))
}

/** Whether a credential claims to be an API key: it has the prefix, with a right or a wrong checksum. */
export function looksLikeApiKey(credential: string | undefined): boolean {
  return credential?.startsWith(PREFIX) ?? false
}

/** Whether a text has the form and the checksum of an API key. */
export function isApiKey(credential: Secret): boolean {
  const text = credential.reveal()
  if (text.length !== LENGTH || !looksLikeApiKey(text)) return false
  const body = text.slice(0, -CHECKSUM_CHARACTERS)
  return text.slice(-CHECKSUM_CHARACTERS) === checksumOf(body)
}

/** The part of a key by which its owner recognizes it. */
export function shownPrefixOf(key: Secret): string {
  return key.reveal().slice(0, SHOWN_CHARACTERS)
}

/** The CRC-32 of the text, 4 bytes in base64url. It protects from mistakes and not from forgery. */
function checksumOf(text: string): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(text))
  return bytes.toString('base64url')
}
