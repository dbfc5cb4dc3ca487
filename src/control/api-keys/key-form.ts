import type { Request } from 'express'
import { cookieOf } from '../../http/cookies.ts'
import { rowIdOf } from '../../kernel/identifier.ts'
import { newApiKey } from '../../kernel/credentials/api-key.ts'
import { deriveKeyMaterial, Secret } from '../../kernel/secret.ts'

/**
 * The form of a page that asks for a key. `session`: the cookie of the browser that sends it; undefined for a caller
 * without one.
 */
export type KeyForm = { readonly id: string; readonly session: Secret | undefined }

/** The form of a request; undefined when it has no id. */
export function toKeyForm(req: Pick<Request, 'cookies'>, id: string | undefined): KeyForm | undefined {
  const cookie = cookieOf(req, 'svc_session')
  return id === undefined ? undefined : { id, session: cookie === undefined ? undefined : new Secret(cookie) }
}

/**
 * The key that a form makes, and the id of its row, so that no second key has it. `of`: what the key belongs to, or the
 * key that it replaces; it keeps a caller from choosing the id. The secret follows from the cookie and the id of the
 * form, and neither is stored here. So when the same browser sends the form again, such as by a double click or after
 * a lost answer, it gets the same key.
 */
export function keyOfForm({ id, session }: KeyForm, of: string): { readonly id: string; readonly key: Secret } {
  const material = session && deriveKeyMaterial(session, JSON.stringify(['api key', of, id]))
  return { id: rowIdOf(of, id), key: newApiKey(material) }
}
