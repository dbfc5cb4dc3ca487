import type { AnswerOrLastKnown } from '../../database/last-known.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { spanAt } from '../../spending/periods.ts'
import { counterOf, findCounting, indexLimits, limitsOf, NOTHING_SPENT, spenderOf } from '../../spending/rules.ts'
import type { CountedLimit, LimitIndex, Spender, Spent } from '../../spending/rules.ts'
import type { FoundSpending } from '../../spending/store.ts'
import type { CallEvent } from '../usage/events.ts'
import { toSpendingSum } from '../usage/spending-sums.ts'
import { makeOwnSums } from './own-sums.ts'
import type { OwnSums } from './own-sums.ts'
import { judgeSpending } from './rules.ts'
import type { SpendingVerdict, UsedLimit } from './rules.ts'
import { makeTeamRefresher } from './team-refresher.ts'

/** What a running call has reserved of the limits of its caller. */
export type SpendingReservation = {
  /** Returns what is reserved. Must be called once, after the event of the call was recorded. */
  release(): void
}

/** A reservation, or why there is none. Null: no limit applies, or the call costs nothing. */
type Reserved = SpendingReservation | Exclude<SpendingVerdict, 'may_start'> | null

/** A limit of a caller, and what the caller has spent of it. */
export type LimitState = { readonly limit: CountedLimit; readonly spent: Spent }

/** What the callers of a gateway have spent of their limits. */
export type SpendingLedger = {
  /**
   * Reserves what a call may cost, or refuses the call. `estimate` says what it may cost in 10^-9 USD, and is asked
   * only where a limit applies.
   */
  reserve(caller: Caller, estimate: () => number): Promise<Reserved> | Reserved
  /** The limits that apply to a caller. Rejects only while none were ever loaded. */
  findStates(caller: Caller): Promise<LimitState[]>
}

/** A ledger that is told what the calls of this process spend. */
export type OpenLedger = SpendingLedger &
  Pick<OwnSums, 'noteBatch' | 'noteSaved' | 'noteRefused'> & {
    /** Counts a call that has ended, before its event is saved. */
    record(event: CallEvent): void
    /** Loads the limits again before the next call, because this process has changed them. */
    expire(): void
  }

type Needs = {
  /** Loads the limits of teams with the saved sums, and names those of the batches that the sums include. */
  readonly load: (teams: readonly string[], batches: readonly string[]) => Promise<FoundSpending>
  readonly clock: Clock
  /** Called with the first of several errors in a row. */
  readonly onFailure: (error: unknown) => void
  readonly answerOrLastKnown: AnswerOrLastKnown
}

/** An amount in 10^-9 USD, and who spends it. `day`: it counts only in the periods that have this day. */
type Amount = Spender & { readonly team: string; readonly nanoUsd: number; readonly day?: string }

/**
 * Counts in memory: the sums of the database, what this process has recorded and these sums do not include yet, and
 * what its running calls have reserved. Without limits, a call costs one look-up.
 */
export function openLedger({ load, clock, onFailure, answerOrLastKnown }: Needs): OpenLedger {
  /** The limits of each team with the saved sums. */
  const teams = new Map<string, LimitIndex<CountedLimit>>()
  const ownSums = makeOwnSums()
  const reservations = new Set<Amount>()
  /** By counter: what is recorded and not in the sums, and what is reserved. */
  let unsaved = new Map<string, number>()
  let reserved = new Map<string, number>()

  const refresher = makeTeamRefresher({
    async load(used) {
      const { teams: waiting, saved, unknown } = ownSums.batches()
      // Without the new sums of its team, a batch could not be forgotten while the database is unavailable afterwards.
      const names = new Set([...used, ...waiting])
      const { limits, savedBatches } = await load([...names], unknown)
      ownSums.forget([...saved, ...savedBatches])
      replace(names, limits)
    },
    onFailure(error, isFirst) {
      if (isFirst) onFailure(error)
      beginPeriods()
    },
    answerOrLastKnown,
  })

  function replace(names: ReadonlySet<string>, limits: readonly CountedLimit[]): void {
    const byTeam = Map.groupBy(limits, ({ team }) => team)
    for (const team of names) teams.set(team, indexLimits(byTeam.get(team) ?? []))
    countOwn()
  }

  /** Begins the periods that start while the database is unavailable. The calls of this process count in them. */
  function beginPeriods(): void {
    const now = clock.now()
    const isOver = ({ span }: CountedLimit) => now >= span.resetsAt
    const begin = (limit: CountedLimit): CountedLimit => ({
      ...limit,
      span: spanAt(limit.period, limit.timeZone, now),
      spent: new Map(),
    })
    for (const [team, { all }] of teams) {
      if (all.some(isOver)) teams.set(team, indexLimits(all.map((limit) => (isOver(limit) ? begin(limit) : limit))))
    }
    countOwn()
  }

  /** Counts what the sums do not include, and what is reserved. */
  function countOwn(): void {
    unsaved = new Map()
    reserved = new Map()
    for (const sum of ownSums.all()) add(unsaved, sum)
    for (const reservation of reservations) add(reserved, reservation)
  }

  function add(counters: Map<string, number>, amount: Amount): void {
    const { team, nanoUsd, day } = amount
    for (const limit of findCounting(teams.get(team), amount)) {
      if (day !== undefined && (day < limit.span.from || day >= limit.span.until)) continue
      const counter = counterOf(limit, amount)
      counters.set(counter, (counters.get(counter) ?? 0) + nanoUsd)
    }
  }

  function findLimits(caller: Caller): CountedLimit[] {
    const team = teams.get(caller.team)
    return team ? limitsOf(team, caller) : []
  }

  function toUsedLimit(limit: CountedLimit, spender: Spender): UsedLimit {
    const counter = counterOf(limit, spender)
    const isCurrent = clock.now() < limit.span.resetsAt
    const saved = limit.spent.get(counter)?.nanoUsd ?? 0
    return {
      limit,
      // The next sums are of the period that has begun meanwhile.
      spentNanoUsd: isCurrent ? saved + (unsaved.get(counter) ?? 0) : 0,
      reservedNanoUsd: reserved.get(counter) ?? 0,
    }
  }

  function reserve(caller: Caller, estimate: () => number): Reserved {
    const limits = findLimits(caller)
    const nanoUsd = limits.length === 0 ? 0 : estimate()
    if (nanoUsd === 0) return null
    const spender = spenderOf(caller)
    const verdict = judgeSpending(
      limits.map((limit) => toUsedLimit(limit, spender)),
      nanoUsd,
    )
    if (verdict !== 'may_start') return verdict
    const reservation = { ...spender, team: caller.team, nanoUsd }
    reservations.add(reservation)
    add(reserved, reservation)
    return {
      release() {
        reservations.delete(reservation)
        add(reserved, { ...reservation, nanoUsd: -nanoUsd })
      },
    }
  }

  return {
    reserve(caller, estimate) {
      const refreshing = refresher.refresh(caller.team)
      return refreshing ? refreshing.then(() => reserve(caller, estimate)) : reserve(caller, estimate)
    },
    async findStates(caller) {
      await refresher.refresh(caller.team)
      const spender = spenderOf(caller)
      return findLimits(caller).map((limit) => {
        const saved = limit.spent.get(counterOf(limit, spender)) ?? NOTHING_SPENT
        return { limit, spent: { ...saved, nanoUsd: toUsedLimit(limit, spender).spentNanoUsd } }
      })
    },
    record(event) {
      if (!event.result || event.result.spent.nanoUsd === 0) return
      const sum = toSpendingSum(event)
      ownSums.add(sum)
      add(unsaved, sum)
    },
    noteBatch: ownSums.noteBatch,
    noteSaved: ownSums.noteSaved,
    noteRefused: ownSums.noteRefused,
    expire: refresher.expire,
  }
}

/** A gateway without a database knows no limits. */
export const NO_LEDGER: SpendingLedger = { reserve: () => null, findStates: async () => [] }
