import { readAdminBackend } from '../../directory/admin-backends.ts'
import type { AdminBackendTrust } from '../../directory/admin-backends.ts'
import type { Versioned } from '../../directory/version.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { DirectoryRefusal } from '../directory-change.ts'
import { isFresh } from '../fresh.ts'
import type { TeamActor } from '../team-access.ts'
import type { TeamBackendStore } from './store.ts'

/** `off`: the operator lets admins add no backends. `reauthenticate`: the sign-in is not fresh. */
export type BackendRefusal = DirectoryRefusal | 'off' | 'reauthenticate'

/** Changes the backends of a team, for an admin of it. */
export type TeamBackendChanges = {
  /** Adds or changes a backend. */
  put(admin: TeamActor, name: string, given: object & Versioned): Promise<BackendRefusal | null>
  remove(admin: TeamActor, name: string): Promise<DirectoryRefusal | null>
}

type Needs = {
  readonly backends: TeamBackendStore
  /** Null: the operator lets admins add none. */
  readonly trust: AdminBackendTrust | null
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the changes that the API and the models page share. */
export function makeTeamBackendChanges({ backends, trust, clock, log }: Needs): TeamBackendChanges {
  return {
    async put(admin, name, { version, ...given }) {
      const now = clock.now()
      if (!trust) return 'off'
      if (!isFresh(admin, now)) return 'reauthenticate'
      const read = readAdminBackend(given)
      if ('mistakes' in read) return read
      const refusal = await backends.put(admin, name, { ...read.settings, version }, trust, now)
      if (!refusal) log.info({ teamId: admin.teamId, backend: name, by: admin.accountId }, 'team_backend.saved')
      return refusal
    },

    async remove(admin, name) {
      const refusal = await backends.remove(admin, name, clock.now())
      if (!refusal) log.info({ teamId: admin.teamId, backend: name, by: admin.accountId }, 'team_backend.deleted')
      return refusal
    },
  }
}
