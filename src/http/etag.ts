import { createHash } from 'node:crypto'
import type { Request } from 'express'

/** The entity tag of a file: a hash of its bytes (RFC 9110, section 8.8.3). */
export function makeEtag(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
}

/** Whether `If-None-Match` names the current version, so that 304 is enough (RFC 9110, section 13.1.2). */
export function hasCurrentCopy(req: Pick<Request, 'headers'>, etag: string): boolean {
  const sent = (req.headers['if-none-match'] ?? '').split(',').map((value) => value.trim().replace(/^W\//, ''))
  return sent.includes(etag) || sent.includes('*')
}
