import { createHash } from 'node:crypto'
import type { AdminBackend } from './admin-backends.ts'
import type { AdminModel } from './admin-models.ts'
import { taken } from './mistakes.ts'
import type { AdminMistake } from './mistakes.ts'

/** The version that the settings must still have when they are changed; undefined: no condition. */
export type Versioned = { readonly version?: string | undefined }

/** Identifies the settings of a model that an admin has added. */
export function versionOfModel(model: AdminModel): string {
  return versionOf(model)
}

/** Identifies the settings of a backend that an admin has added, also after its credential was encrypted again. */
export function versionOfBackend({ credential, ...settings }: AdminBackend): string {
  return versionOf({ ...settings, credential: credential && { as: credential.as, setAt: credential.setAt } })
}

function versionOf(settings: object): string {
  return createHash('sha256').update(JSON.stringify(settings)).digest('base64url').slice(0, 22)
}

/**
 * Refuses a change of settings that another admin has changed since they were read. `known`: their version then.
 * `current`: their version now; null when they are deleted.
 */
export function refuseOutdated(known: Versioned['version'], current: string | null): AdminMistake | null {
  if (known === undefined || known === current) return null
  return taken([], 'It was changed after you read it. Look at what it is now, and then save yours again.')
}
