import { readAdminModel } from '../../directory/admin-models.ts'
import type { Versioned } from '../../directory/version.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { DirectoryRefusal } from '../directory-change.ts'
import type { TeamActor } from '../team-access.ts'
import type { TeamModelStore } from './store.ts'

/** Changes the models of a team, for an admin of it. Each resolves with why it was refused; null: it was not. */
export type TeamModelChanges = {
  /** Adds a model, or replaces one that an admin has added. */
  put(admin: TeamActor, id: string, given: object & Versioned): Promise<DirectoryRefusal | null>
  remove(admin: TeamActor, id: string): Promise<DirectoryRefusal | null>
  /** Null: the team has no default model. */
  setDefault(admin: TeamActor, id: string | null): Promise<DirectoryRefusal | null>
}

type Needs = { readonly models: TeamModelStore; readonly clock: Clock; readonly log: Logger }

/** Makes the changes that the API and the models page share. */
export function makeTeamModelChanges({ models, clock, log }: Needs): TeamModelChanges {
  return {
    async put(admin, id, { version, ...given }) {
      const read = readAdminModel(given)
      if ('mistakes' in read) return read
      const refusal = await models.put(admin, id, { ...read.settings, version }, clock.now())
      if (!refusal) log.info({ teamId: admin.teamId, model: id, by: admin.accountId }, 'team_model.saved')
      return refusal
    },

    async remove(admin, id) {
      const refusal = await models.remove(admin, id, clock.now())
      if (!refusal) log.info({ teamId: admin.teamId, model: id, by: admin.accountId }, 'team_model.deleted')
      return refusal
    },

    async setDefault(admin, id) {
      const result = await models.setDefault(admin, id, clock.now())
      if (result === 'unchanged') return null
      if (!result) log.info({ teamId: admin.teamId, model: id, by: admin.accountId }, 'team.default_model_changed')
      return result
    },
  }
}
