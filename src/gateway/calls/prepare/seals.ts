import { createHash, hkdfSync } from 'node:crypto'
import type { Secret } from '../../../kernel/secret.ts'
import type { Backend } from '../../backends/backend.ts'
import { makeSeals } from '../../dialects/seals.ts'
import type { Seals } from '../../dialects/translated-dialect.ts'
import type { Step } from '../../plan/plan.ts'

const KEY_LABEL = 'svc reasoning seals'
const KEY_BYTES = 32

/** What the seals of a call depend on. */
type SealedCall = {
  readonly backend: Backend
  readonly step: Step
  readonly team: string
  /** Secrets of the deployment (`SVC_SECRET_KEY`), which are the same in every process. May be none. */
  readonly secrets: readonly Secret[]
}

/**
 * The seals of one translated call. Their keys are derived from the secrets of the deployment and from the backend's
 * credential. Without the former, a renewed credential ends the seals of before.
 */
export function sealsFor({ backend, step, team, secrets }: SealedCall): Seals {
  const { name, credential } = backend
  const id = createHash('sha256').update(`${name} ${step.dialect}`).digest('base64url').slice(0, 8)
  const known = credential ? [...secrets, credential.secret] : secrets
  const keys = known.map((secret) => hkdfSync('sha256', secret.reveal(), '', `${KEY_LABEL} ${id}`, KEY_BYTES))
  return makeSeals({ backend: id, model: step.model, team, keys: keys.map((key) => new Uint8Array(key)) })
}
