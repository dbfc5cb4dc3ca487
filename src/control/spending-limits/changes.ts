import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { toLimitAnswer, mostSpent } from '../../spending/answers.ts'
import type { LimitAnswer } from '../../spending/answers.ts'
import { chooseLimits, counterOf, findCounting, indexLimits, NOTHING_SPENT } from '../../spending/rules.ts'
import type { SpendingStore } from '../../spending/store.ts'
import type { TeamActor } from '../team-access.ts'
import type { LimitRefusal, LimitStore, WantedLimit } from './store.ts'

/**
 * Reads and changes the spending limits of a team, whose admin the caller must have been found to be. Refusals are
 * values, because the API and pages answer them differently.
 */
export type TeamLimits = {
  list(teamId: string): Promise<LimitAnswer[]>
  /** Null: the team has no limit with this id. */
  find(teamId: string, id: string): Promise<LimitAnswer | null>
  create(admin: TeamActor, wanted: WantedLimit): Promise<LimitAnswer | LimitRefusal>
  change(admin: TeamActor, id: string, amountNanoUsd: number): Promise<LimitAnswer | null>
  /** False: the team has no limit with this id. */
  remove(admin: TeamActor, id: string): Promise<boolean>
  /** The limits that apply to a member of the team, with what is saved of their spending. Needs no admin. */
  listOfMember(member: Pick<TeamActor, 'teamId' | 'accountId'>): Promise<LimitAnswer[]>
}

type Needs = {
  readonly limits: LimitStore
  readonly spending: SpendingStore
  /** Tells the gateway of this process that limits have changed. */
  readonly onLimitsChanged: () => void
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the functions that the API and the limits page share. */
export function makeTeamLimits(needs: Needs): TeamLimits {
  const { limits, spending, onLimitsChanged, clock, log } = needs

  async function list(teamId: string): Promise<LimitAnswer[]> {
    const found = await spending.findSpending({ teamId }, clock.now())
    return found.limits.map((limit) => toLimitAnswer(limit, mostSpent(limit)))
  }

  async function find(teamId: string, limitId: string): Promise<LimitAnswer | null> {
    // Requests may name an id in capital letters.
    return (await list(teamId)).find(({ id }) => id === limitId.toLowerCase()) ?? null
  }

  return {
    list,
    find,

    async create(admin, wanted) {
      const isWhole = wanted.subject === 'team' || wanted.subject === 'members'
      if (isWhole !== (wanted.of === undefined)) return 'unknown_subject'
      const made = await limits.create(admin, wanted, clock.now())
      if (typeof made === 'string') return made
      onLimitsChanged()
      log.info({ limitId: made.id, teamId: admin.teamId, by: admin.accountId }, 'spending_limit.created')
      // Another admin may have removed it at once.
      return (await find(admin.teamId, made.id)) ?? 'unknown_subject'
    },

    async change(admin, id, amountNanoUsd) {
      if (!(await limits.change(admin, id, amountNanoUsd, clock.now()))) return null
      onLimitsChanged()
      log.info({ limitId: id, teamId: admin.teamId, by: admin.accountId }, 'spending_limit.changed')
      return find(admin.teamId, id)
    },

    async remove(admin, id) {
      if (!(await limits.remove(admin, id, clock.now()))) return false
      onLimitsChanged()
      log.info({ limitId: id, teamId: admin.teamId, by: admin.accountId }, 'spending_limit.removed')
      return true
    },

    async listOfMember({ teamId, accountId }) {
      const found = await spending.findSpending({ teamId }, clock.now())
      const spender = { accountId, keyId: null }
      const isPerson = true
      return chooseLimits(findCounting(indexLimits(found.limits), spender), isPerson).map((limit) =>
        toLimitAnswer(limit, limit.spent.get(counterOf(limit, spender)) ?? NOTHING_SPENT),
      )
    },
  }
}
