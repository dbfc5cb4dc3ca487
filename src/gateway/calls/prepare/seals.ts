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
 * credential. Without such secrets, seals do not open after the credential was renewed.
 */
export function sealsFor({ backend, step, team, secrets }: SealedCall): Seals {
  const { name, origin, apiPath, credential } = backend
  const id = createHash('sha256').update(`${name} ${step.dialect}`).digest('base64url').slice(0, 8)
  const keys = [
    // Another server that gets the name later cannot read this one's reasoning.
    ...secrets.map((secret) => deriveKey(secret, `${id} ${origin}${apiPath}`)),
    ...(credential ? [deriveKey(credential.secret, id)] : []),
  ]
  return makeSeals({ backend: id, model: step.model, team, keys })
}

function deriveKey(secret: Secret, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret.reveal(), '', `${KEY_LABEL} ${purpose}`, KEY_BYTES))
}
