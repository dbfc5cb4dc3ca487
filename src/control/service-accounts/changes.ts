import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { ListedServiceAccount, ServiceAccountRefusal, ServiceAccountStore } from './store.ts'

/** Changes the service accounts of a team, for an admin of it. */
export type ServiceAccountChanges = {
  create(
    caller: Caller,
    teamId: string,
    name: string,
    ip: string,
  ): Promise<ListedServiceAccount | ServiceAccountRefusal>
  /** Deletes it with its keys. False: the team has no service account with this id. */
  remove(caller: Caller, teamId: string, id: string, ip: string): Promise<boolean>
}

type Needs = {
  readonly serviceAccounts: ServiceAccountStore
  /** Tells the gateway of this process that a key has ended. */
  readonly onKeyEnd: (keyId: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the changes that the API and the keys page share. */
export function makeServiceAccountChanges({ serviceAccounts, onKeyEnd, clock, log }: Needs): ServiceAccountChanges {
  return {
    async create({ accountId }, teamId, name, ip) {
      const made = await serviceAccounts.create(teamId, name, { accountId, ip }, clock.now())
      if (typeof made === 'string') return made
      log.info({ serviceAccountId: made.id, teamId, by: accountId }, 'service_account.created')
      return made
    },

    async remove({ accountId }, teamId, id, ip) {
      const ended = await serviceAccounts.remove(id, teamId, { accountId, ip }, clock.now())
      if (!ended) return false
      ended.forEach(onKeyEnd)
      log.info({ serviceAccountId: id, teamId, by: accountId }, 'service_account.deleted')
      return true
    },
  }
}
