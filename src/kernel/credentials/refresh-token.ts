import { createHmac, timingSafeEqual } from 'node:crypto'
import { Secret } from '../secret.ts'

/**
 * Refresh tokens are computed, not stored. A token is `svcr_` and the base64url form of these bytes:
 *
 *     version 1 | key number 1 | session id 16 | generation 4 | HMAC-SHA256 32
 *
 * The MAC key is derived from a service key and a salt of the session, so forging a token needs both. The same
 * generation always gives the same token, so a repeated request gets the same answer.
 */
const PREFIX = 'svcr_'
const VERSION = 1
const BODY_BYTES = 22
const MAC_BYTES = 32

/** The content of a refresh token whose MAC has not been checked yet. */
export type RefreshClaim = {
  readonly keyNumber: number
  readonly sessionId: string
  readonly generation: number
  readonly body: Buffer
  readonly mac: Buffer
}

/** A service key for refresh tokens, and the number that tokens name it by. */
export type RefreshKey = { readonly number: number; readonly secret: Secret }

/** The refresh token of a session and a generation. The same arguments make the same token. */
export function makeRefreshToken(key: RefreshKey, salt: Uint8Array, sessionId: string, generation: number): Secret {
  const body = Buffer.alloc(BODY_BYTES)
  body.writeUInt8(VERSION, 0)
  body.writeUInt8(key.number, 1)
  Buffer.from(sessionId.replaceAll('-', ''), 'hex').copy(body, 2)
  body.writeUInt32BE(generation, 18)
  return new Secret(PREFIX + Buffer.concat([body, macOf(key, salt, body)]).toString('base64url'))
}

/** Parses a refresh token; null when it does not have the form of one. `isGenuine` checks the MAC. */
export function readRefreshToken(token: Secret): RefreshClaim | null {
  const text = token.reveal()
  if (!/^svcr_[A-Za-z0-9_-]{72}$/.test(text)) return null
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url')
  if (bytes.length !== BODY_BYTES + MAC_BYTES || bytes[0] !== VERSION) return null
  return {
    keyNumber: bytes.readUInt8(1),
    sessionId: toUuid(bytes.subarray(2, 18)),
    generation: bytes.readUInt32BE(18),
    body: bytes.subarray(0, BODY_BYTES),
    mac: bytes.subarray(BODY_BYTES),
  }
}

/** Whether this service made the token for a session with this salt. Compares in constant time. */
export function isGenuine(claim: RefreshClaim, key: RefreshKey, salt: Uint8Array): boolean {
  return timingSafeEqual(claim.mac, macOf(key, salt, claim.body))
}

function macOf(key: RefreshKey, salt: Uint8Array, body: Buffer): Buffer {
  const sessionKey = createHmac('sha256', Buffer.from(key.secret.reveal(), 'base64url')).update(salt).digest()
  return createHmac('sha256', sessionKey).update(body).digest()
}

function toUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
