/**
 * A spending limit says what calls may cost in a day, a week or a month. It is for all calls of a team, for each
 * member, or for one member, API key or service account. All limits that apply to a caller hold at the same time, but a
 * limit of one member replaces the limit of each member for the same period, so that a member can get more than others.
 */
import type { Caller } from '../kernel/caller.ts'
import { writeUsd } from '../kernel/formats/usd.ts'
import { toDayText } from '../kernel/formats/utc-text.ts'
import { NIL_UUID } from '../kernel/identifier.ts'
import type { Period, CalendarSpan } from './periods.ts'

export const SUBJECTS = ['team', 'members', 'member', 'key', 'service_account'] as const

/** Whose calls a limit counts. `members`: those of each member by itself. */
export type Subject = (typeof SUBJECTS)[number]

export type SpendingLimit = {
  readonly id: string
  /** `@organization/name`. */
  readonly team: string
  /** The zone of the team, in which periods begin. */
  readonly timeZone: string
  readonly subject: Subject
  /** The account, the API key or the service account; null for `team` and `members`. */
  readonly subjectId: string | null
  /** The email address of a member, or the name of a key or a service account. */
  readonly subjectName: string | null
  /** Of a key: its id and those of the keys that it has replaced, because rotation must not reset a limit. */
  readonly keyIds: readonly string[]
  readonly period: Period
  /** In 10^-9 USD. */
  readonly amountNanoUsd: number
  readonly createdAt: Date
}

/** What the calls of a counter have used. */
export type Spent = {
  /** In 10^-9 USD, with an estimate for each call whose tokens are unknown. */
  readonly nanoUsd: number
  readonly unknownCalls: number
  /** Calls of models without a price, which are not in `nanoUsd`. */
  readonly unpricedCalls: number
}

export const NOTHING_SPENT: Spent = { nanoUsd: 0, unknownCalls: 0, unpricedCalls: 0 }

/** A limit in its current period. */
export type CountedLimit = SpendingLimit & {
  readonly span: CalendarSpan
  /** What was spent in the period by those for whom the limit holds, by counter. */
  readonly spent: ReadonlyMap<string, Spent>
}

/** Whose calls are counted. */
export type Spender = { readonly accountId: string; readonly keyId: string | null }

/** The API key of calls without one, in sums whose primary key has the API key: a primary key has no nulls. */
export const NO_KEY = NIL_UUID

/** A limit of each member has a counter for each of them; the other limits have one. */
export function counterOf({ id, subject }: Pick<SpendingLimit, 'id' | 'subject'>, { accountId }: Spender): string {
  return subject === 'members' ? `${id}/${accountId}` : id
}

/** The limits of a team by whose calls they count. */
export type LimitIndex<Limit> = {
  readonly all: readonly Limit[]
  /** Those that count every caller of the team. */
  readonly shared: readonly Limit[]
  /** The others by account, service account or API key. */
  readonly bySubject: ReadonlyMap<string, readonly Limit[]>
}

/** Makes the index of the limits of a team. */
export function indexLimits<Limit extends SpendingLimit>(limits: readonly Limit[]): LimitIndex<Limit> {
  // Limits without a subject are under the empty text.
  const bySubject = new Map<string, Limit[]>()
  for (const limit of limits) {
    const ids = limit.keyIds.length > 0 ? limit.keyIds : [limit.subjectId ?? '']
    for (const id of ids) bySubject.set(id, [...(bySubject.get(id) ?? []), limit])
  }
  return { all: limits, shared: bySubject.get('') ?? [], bySubject }
}

/** The limits that count the calls of a spender. */
export function findCounting<Limit>(
  index: LimitIndex<Limit> | undefined,
  { accountId, keyId }: Spender,
): readonly Limit[] {
  if (!index) return []
  const own = index.bySubject.get(accountId) ?? []
  const ofKey = keyId === null ? [] : (index.bySubject.get(keyId) ?? [])
  return [...index.shared, ...own, ...ofKey]
}

/** Adds what was spent to a counter. */
export function addSpent(counters: Map<string, Spent>, counter: string, added: Spent): void {
  const before = counters.get(counter) ?? NOTHING_SPENT
  counters.set(counter, {
    nanoUsd: before.nanoUsd + added.nanoUsd,
    unknownCalls: before.unknownCalls + added.unknownCalls,
    unpricedCalls: before.unpricedCalls + added.unpricedCalls,
  })
}

/**
 * The limits that hold for a spender, of those that count its calls. A limit of each member does not hold for service
 * accounts, nor for a member with a limit of their own for the same period.
 */
export function chooseLimits<Limit extends SpendingLimit>(counting: readonly Limit[], isPerson: boolean): Limit[] {
  const own = new Set(counting.filter(({ subject }) => subject === 'member').map(({ period }) => period))
  return counting.filter(({ subject, period }) => subject !== 'members' || (isPerson && !own.has(period)))
}

/** The limits of a team that hold for a caller. */
export function limitsOf<Limit extends SpendingLimit>(index: LimitIndex<Limit>, caller: Caller): Limit[] {
  const isPerson = (caller.key?.serviceAccount ?? null) === null
  return chooseLimits(findCounting(index, spenderOf(caller)), isPerson)
}

/** Who spends with the calls of a caller. */
export function spenderOf({ accountId, key }: Caller): Spender {
  return { accountId, keyId: key?.id ?? null }
}

/** Names a limit in the middle of a sentence: `limit of 10.00 USD a day for ada@example.com`. */
export function describeLimit({ amountNanoUsd, period, ...limit }: SpendingLimit): string {
  return `limit of ${writeUsd(amountNanoUsd)} USD a ${period} for ${WHOSE[limit.subject](limit)}`
}

type Named = Pick<SpendingLimit, 'team' | 'subjectName'>

const WHOSE: Readonly<Record<Subject, (limit: Named) => string>> = {
  team: ({ team }) => `the team ${team}`,
  members: ({ team }) => `each member of ${team}`,
  member: ({ subjectName }) => subjectName ?? 'a former member',
  key: ({ subjectName }) => `the API key ${JSON.stringify(subjectName)}`,
  service_account: ({ subjectName }) => `the service account ${subjectName}`,
}

type ResettingLimit = { readonly timeZone: string; readonly span: Pick<CalendarSpan, 'resetsAt'> }

/** When a period ends, for people: `23 Nov 2026, 00:00 (Europe/Berlin)`. */
export function writeReset({ timeZone, span }: ResettingLimit): string {
  // Swedish writes `2026-11-23 00:00`.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  const [day = '', time = ''] = format.format(span.resetsAt).split(' ')
  return `${toDayText(day)}, ${time} (${timeZone})`
}
