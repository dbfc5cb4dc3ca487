import { createHash, hkdfSync } from 'node:crypto'
import type { Backend } from '../../backends/backend.ts'
import { makeSeals } from '../../dialects/seals.ts'
import type { Seals } from '../../dialects/translated-dialect.ts'
import type { Step } from '../../plan/plan.ts'

const KEY_LABEL = 'svc reasoning seals'
const KEY_BYTES = 32

/**
 * The seals of one translated call. Their key is derived from the backend's credential, so every process has the same
 * one without a setting, and another account at the vendor has another.
 */
export function sealsFor({ name, credential }: Backend, { model, dialect }: Step, team: string): Seals {
  const backend = createHash('sha256').update(`${name} ${dialect}`).digest('base64url').slice(0, 8)
  const secret = credential?.secret.reveal()
  const key = secret === undefined ? null : hkdfSync('sha256', secret, '', `${KEY_LABEL} ${backend}`, KEY_BYTES)
  return makeSeals({ backend, model, team, key: key && new Uint8Array(key) })
}
