import type { Clock } from '../../../kernel/clock.ts'
import type { LimitAnswer } from '../../../spending/answers.ts'
import type { ApiKeyStore } from '../../api-keys/store.ts'
import type { ServiceAccountStore } from '../../service-accounts/store.ts'
import type { TeamLimits } from '../../spending-limits/changes.ts'
import type { ConsoleStore } from '../store.ts'
import type { Viewer } from '../viewer.ts'

/** Finds the limits that a viewer sees: an admin those of the team, a member those that apply to them. */
export type FindLimits = (viewer: Viewer) => Promise<LimitAnswer[]>

/** Makes the function for the pages of a team. */
export function makeFindLimits(limits: Pick<TeamLimits, 'list' | 'listOfMember'>): FindLimits {
  return (viewer) => (viewer.role === 'admin' ? limits.list(viewer.teamId) : limits.listOfMember(viewer))
}

/** Whose calls a new limit can count, besides those of all and of each member. */
export type LimitChoices = {
  /** Addresses of members, at most `MAX_MEMBER_CHOICES`. */
  readonly members: readonly string[]
  readonly serviceAccounts: readonly { readonly id: string; readonly name: string }[]
  /** `owner`: the service account; null for a key of the admin. */
  readonly keys: readonly { readonly id: string; readonly name: string; readonly owner: string | null }[]
}

/** A list of more members is too long to choose from. */
export const MAX_MEMBER_CHOICES = 1000

type Needs = {
  readonly store: Pick<ConsoleStore, 'findAddresses'>
  readonly keys: Pick<ApiKeyStore, 'list' | 'listOfServiceAccounts'>
  readonly serviceAccounts: Pick<ServiceAccountStore, 'list'>
  readonly clock: Clock
}

/** Finds whose limits an admin can set on the page. Personal keys of other members are not shown to admins. */
export function makeFindLimitChoices({ store, keys, serviceAccounts, clock }: Needs) {
  return async ({ accountId, teamId, team }: Viewer): Promise<LimitChoices> => {
    const now = clock.now()
    const [members, accounts, ownKeys, accountKeys] = await Promise.all([
      store.findAddresses(teamId, MAX_MEMBER_CHOICES),
      serviceAccounts.list(teamId, now),
      keys.list({ accountId }, now),
      keys.listOfServiceAccounts(teamId, now),
    ])
    const names = new Map(accounts.map(({ id, name }) => [id, name]))
    return {
      members,
      serviceAccounts: accounts,
      keys: [
        ...accountKeys.map((key) => ({ ...key, owner: names.get(key.serviceAccountId) ?? null })),
        ...ownKeys.filter((key) => key.team === team).map((key) => ({ ...key, owner: null })),
      ].filter(({ replacedBy }) => replacedBy === null),
    }
  }
}
