import type { OnCallerEnd } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { TeamActor } from '../team-access.ts'
import type { ListedServiceAccount, ServiceAccountRefusal, ServiceAccountStore } from './store.ts'

/** Changes the service accounts of a team, for an admin of it. */
export type ServiceAccountChanges = {
  create(admin: TeamActor, name: string): Promise<ListedServiceAccount | ServiceAccountRefusal>
  /** Deletes it with its keys. False: the team has no service account with this id. */
  remove(admin: TeamActor, id: string): Promise<boolean>
}

type Needs = {
  readonly serviceAccounts: ServiceAccountStore
  readonly onCallerEnd: OnCallerEnd
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the changes that the API and the keys page share. */
export function makeServiceAccountChanges({ serviceAccounts, onCallerEnd, clock, log }: Needs): ServiceAccountChanges {
  return {
    async create(admin, name) {
      const made = await serviceAccounts.create(admin, name, clock.now())
      if (typeof made === 'string') return made
      log.info({ serviceAccountId: made.id, teamId: admin.teamId, by: admin.accountId }, 'service_account.created')
      return made
    },

    async remove(admin, id) {
      const ended = await serviceAccounts.remove(admin, id, clock.now())
      if (!ended) return false
      ended.forEach(onCallerEnd)
      log.info({ serviceAccountId: id, teamId: admin.teamId, by: admin.accountId }, 'service_account.deleted')
      return true
    },
  }
}
