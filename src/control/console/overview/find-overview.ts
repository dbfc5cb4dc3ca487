import type { Clock } from '../../../kernel/clock.ts'
import type { LimitAnswer } from '../../../spending/answers.ts'
import { thisMonth } from '../../usage/rules.ts'
import type { ReportPeriod } from '../../usage/rules.ts'
import type { FoundSums, UsageStore } from '../../usage/store.ts'
import type { FindLimits } from '../limits/find-limits.ts'
import type { ConsoleStore, ModelSpeed } from '../store.ts'
import { subjectOf } from '../viewer.ts'
import type { Viewer } from '../viewer.ts'

/** What the overview shows: of the whole team for its admins, of the person for a member. */
export type Overview = {
  readonly isOfTeam: boolean
  readonly period: ReportPeriod
  readonly days: FoundSums
  readonly models: FoundSums
  /** Null for a member. */
  readonly people: FoundSums | null
  readonly slowest: readonly ModelSpeed[]
  readonly limits: readonly LimitAnswer[]
}

/** How many models and people the overview shows. */
const MAX_TOP = 5

type Needs = {
  readonly usage: UsageStore
  readonly store: ConsoleStore
  readonly findLimits: FindLimits
  readonly clock: Clock
}

/** Finds what the overview of a viewer shows. */
export function makeFindOverview({ usage, store, findLimits, clock }: Needs) {
  return async (viewer: Viewer): Promise<Overview> => {
    const now = clock.now()
    const period = thisMonth(now)
    const subject = subjectOf(viewer)
    const isOfTeam = subject.accountId === null
    const wanted = { subject, period, now }
    const [days, models, people, slowest, limits] = await Promise.all([
      usage.findSums({ ...wanted, by: 'day' }),
      usage.findSums({ ...wanted, by: 'model', limit: MAX_TOP }),
      isOfTeam ? usage.findSums({ ...wanted, by: 'member', limit: MAX_TOP }) : null,
      store.findSlowestModels(viewer.team, subject.accountId),
      findLimits(viewer),
    ])
    return { isOfTeam, period, days, models, people, slowest, limits }
  }
}
