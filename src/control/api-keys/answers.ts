import type { ApiKeyInfo, NewApiKey } from '../../../generated/openapi.ts'
import { ApiError } from '../../http/errors.ts'
import { invalidName } from '../request-fields.ts'
import type { NewKey, UnknownModels } from './changes.ts'
import { MAX_KEYS } from './rules.ts'
import type { RotationVerdict } from './rules.ts'
import type { ListedKey } from './store.ts'

/** A key as the contract shows it. */
export function toKeyInfo({ createdAt, expiresAt, lastUsedAt, models, ...key }: ListedKey): ApiKeyInfo {
  return {
    ...key,
    models: models && [...models],
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  }
}

/** A new key with its secret, which no other answer shows. */
export function toNewKey({ key, info }: NewKey): NewApiKey {
  return { key: key.reveal(), info: toKeyInfo(info) }
}

type Refusal = Exclude<RotationVerdict, 'rotate'> | 'reauthenticate' | 'invalid_name' | 'sent_before' | UnknownModels

/** Why a key was not made or changed. */
export function toKeyRefusal(refusal: Refusal): ApiError {
  if (typeof refusal !== 'string') return unknownModels(refusal)
  if (refusal === 'reauthenticate') return new ApiError('reauthenticate')
  if (refusal === 'invalid_name') return invalidName()
  if (refusal === 'rotated_before')
    return new ApiError('conflict', { message: 'This key was rotated before. Rotate the key that replaced it.' })
  if (refusal === 'sent_before') return new ApiError('conflict', { message: 'This key was created before.' })
  if (refusal === 'too_many')
    return new ApiError('conflict', { message: `${MAX_KEYS} keys work already, which is the limit. Revoke one first.` })
  return new ApiError('not_found', { message: 'There is no working key with this id.' })
}

function unknownModels({ unknown, models }: UnknownModels): ApiError {
  const has = models.length > 0 ? `It has ${models.join(', ')}.` : 'It has none.'
  return new ApiError('invalid_request', { message: `models: the team does not have ${unknown.join(', ')}. ${has}` })
}
