import type { Database } from '../../database/client.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { makeSpendingStore } from '../../spending/store.ts'
import type { Notify } from '../mails/notify.ts'
import { findReached } from './rules.ts'
import { makeNoticeStore } from './store.ts'

type Needs = {
  readonly database: Database
  readonly notify: Notify
  readonly clock: Clock
  readonly log: Logger
}

/** A small number, because calls and other statements wait while the sums of the members of these teams are read. */
const TEAMS_AT_ONCE = 20

/**
 * Returns a function that tells the admins of a team by email that a spending limit has reached 80 % or 100 %. Any
 * number of processes may run it: each notice is claimed before it is sent.
 */
export function makeAnnounceLimits({ database, notify, clock, log }: Needs): () => Promise<void> {
  const spending = makeSpendingStore(database)
  const notices = makeNoticeStore(database)

  async function announce(names: readonly string[], now: Date): Promise<void> {
    const { limits } = await spending.findSpending({ names }, now)
    const reached = findReached(limits)
    if (reached.length === 0) return
    for (const { limit, percent, spentNanoUsd, admins, member } of await notices.claim(reached, now)) {
      log.info({ limitId: limit.id, team: limit.team, percent }, 'spending_limit.reached')
      for (const email of admins) notify.spendingReached(email, { limit, percent, spentNanoUsd, member })
    }
  }

  return async () => {
    const [teams, now] = [await spending.findTeams(), clock.now()]
    for (let at = 0; at < teams.length; at += TEAMS_AT_ONCE) await announce(teams.slice(at, at + TEAMS_AT_ONCE), now)
  }
}
