import type { UsageGrouping, UsageRow, UsageSums } from '../../../generated/openapi.ts'
import type { Database } from '../../database/client.ts'
import { PLANNED_FOR_VALUES } from '../../database/planned-for-values.ts'
import { rawSql, sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import { toIsoDay } from '../../kernel/formats/utc-text.ts'
import { NO_KEY } from '../../spending/rules.ts'
import { splitByMonth } from './rules.ts'
import type { ReportPeriod } from './rules.ts'

/** Whose calls a report is about. */
export type ReportSubject = {
  /** `@organization/name`. */
  readonly team: string
  /** Null: everyone in the team. */
  readonly accountId: string | null
}

/** A report on the usage of a period. */
export type WantedReport = {
  readonly subject: ReportSubject
  readonly period: ReportPeriod
  readonly by: UsageGrouping
  readonly now: Date
  /** Further rows are left out. Default: `MAX_ROWS`. */
  readonly limit?: number
}

const MAX_ROWS = 1000

type Grouping = {
  /** The column that a row is about. */
  readonly column: string
  /** Where its name is. */
  readonly name: string
  /** The table of sums that a report on a whole team reads. A report on one account reads `usage_days`. */
  readonly ofTeam: 'usage_team_days' | 'usage_caller_months'
}

const GROUPINGS: Readonly<Record<UsageGrouping, Grouping>> = {
  day: { column: 'day', name: 'NULL', ofTeam: 'usage_team_days' },
  model: { column: 'model', name: 'NULL', ofTeam: 'usage_team_days' },
  member: {
    column: 'account_id',
    ofTeam: 'usage_caller_months',
    name: `coalesce(
      (SELECT email FROM accounts WHERE accounts.id = sums.id),
      (SELECT 'service:' || name FROM service_accounts WHERE service_accounts.id = sums.id))`,
  },
  key: {
    column: 'key_id',
    ofTeam: 'usage_caller_months',
    name: '(SELECT name FROM api_keys WHERE api_keys.id = sums.id)',
  },
  backend: { column: 'backend', name: 'NULL', ofTeam: 'usage_team_days' },
  dialect: { column: 'dialect', name: 'NULL', ofTeam: 'usage_team_days' },
}

/** The counters of `usage_days` by the names of a report. */
const COUNTERS = {
  calls: 'calls',
  failedCalls: 'failed_calls',
  unknownCalls: 'unknown_calls',
  estimatedCalls: 'estimated_calls',
  unpricedCalls: 'unpriced_calls',
  pricedCalls: 'priced_calls',
  inputTokens: 'input_tokens',
  cacheReadTokens: 'cache_read_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  cacheWriteLongTokens: 'cache_write_long_tokens',
  outputTokens: 'output_tokens',
  reasoningTokens: 'reasoning_tokens',
  costNanoUsd: 'cost_nano_usd',
} as const

type Counts = Record<keyof typeof COUNTERS, bigint>

type SumRow = Counts & { readonly id: string | null; readonly name: string | null; readonly isTotal: boolean }

const NAMES = Object.keys(COUNTERS).map((name) => `"${name}"`)

const SUMS = rawSql(
  Object.entries(COUNTERS)
    .map(([name, column]) => `sum(${column})::bigint AS "${name}"`)
    .join(', '),
)

const TOTALS = rawSql(NAMES.map((name) => `coalesce(sum(${name}), 0)::bigint AS ${name}`).join(', '))

const COLUMNS = rawSql(Object.values(COUNTERS).join(', '))

const NEGATED = rawSql(
  Object.values(COUNTERS)
    .map((column) => `-${column}`)
    .join(', '),
)

export type UsageStore = ReturnType<typeof makeUsageStore>

/** Finds sums of usage. */
export function makeUsageStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** The sums of a period by a grouping, in the order of a report, and the sum of all of them. */
    async findSums({ by, limit = MAX_ROWS, ...wanted }: WantedReport): Promise<FoundSums> {
      const order = by === 'day' ? sql`id` : sql`"costNanoUsd" DESC, calls DESC, id`
      // The total is the sum of the rows, of which there are far fewer than sums in the tables. A row without any call
      // is of days that are removed from a month.
      const found = await db.$queryRaw<SumRow[]>`${rawSql(PLANNED_FOR_VALUES)}
        WITH sums AS MATERIALIZED (
          SELECT id, ${SUMS} FROM (${selectSums(by, wanted)}) AS parts GROUP BY id
          HAVING sum(calls) <> 0 OR sum(unknown_calls) <> 0 OR sum(priced_calls) <> 0 OR sum(unpriced_calls) <> 0
        ), shown AS (SELECT * FROM sums ORDER BY ${order} LIMIT ${limit + 1})
        SELECT true AS "isTotal", NULL AS id, NULL AS name, ${TOTALS} FROM sums
        UNION ALL
        SELECT false, nullif(id::text, ${NO_KEY}), ${rawSql(GROUPINGS[by].name)}, ${rawSql(NAMES.join(', '))}
        FROM shown AS sums`
      const total = found.find(({ isTotal }) => isTotal)
      // The sum of all is there for a period without calls too.
      if (!total) throw new Error('The sum of all rows is missing.')
      const rows = found.filter(({ isTotal }) => !isTotal)
      return {
        rows: rows.slice(0, limit).map((row) => ({ id: row.id, name: row.name, ...toSums(row) })),
        isTruncated: rows.length > limit,
        total: toSums(total),
      }
    },
  }
}

/** The rows to add up, with the id of the grouping. */
function selectSums(by: UsageGrouping, { subject, period, now }: Omit<WantedReport, 'by'>): Sql {
  const { column, ofTeam } = GROUPINGS[by]
  const id = rawSql(column)
  const { team, accountId } = subject
  if (accountId === null && ofTeam === 'usage_caller_months') return selectMonths(id, team, period, now)
  const [table, isWhose] =
    accountId === null ? [rawSql(ofTeam), sql`true`] : [rawSql('usage_days'), sql`account_id = ${accountId}::uuid`]
  return sql`
    SELECT ${id} AS id, ${COLUMNS} FROM ${table}
    WHERE team = ${team} AND day BETWEEN ${period.from}::date AND ${period.to}::date AND ${isWhose}`
}

/** The sums of months, and of the days that are added to them and removed from them. */
function selectMonths(id: Sql, team: string, period: ReportPeriod, now: Date): Sql {
  const { months, days, removed } = splitByMonth(period, toIsoDay(now))
  return sql`
    SELECT ${id} AS id, ${COLUMNS} FROM usage_caller_months WHERE team = ${team} AND month = ANY (${months}::date[])
    UNION ALL
    SELECT ${id}, ${COLUMNS} FROM usage_days WHERE team = ${team} AND day = ANY (${days}::date[])
    UNION ALL
    SELECT ${id}, ${NEGATED} FROM usage_days WHERE team = ${team} AND day = ANY (${removed}::date[])`
}

export type FoundSums = { readonly rows: UsageRow[]; readonly isTruncated: boolean; readonly total: UsageSums }

/** Sums stay far below 2^53, which in 10^-9 USD is 9 million USD. */
function toSums({ pricedCalls, costNanoUsd, ...counts }: Counts): UsageSums {
  const sums = {
    calls: Number(counts.calls),
    failedCalls: Number(counts.failedCalls),
    unknownCalls: Number(counts.unknownCalls),
    estimatedCalls: Number(counts.estimatedCalls),
    unpricedCalls: Number(counts.unpricedCalls),
    inputTokens: Number(counts.inputTokens),
    cacheReadTokens: Number(counts.cacheReadTokens),
    cacheWriteTokens: Number(counts.cacheWriteTokens),
    cacheWriteLongTokens: Number(counts.cacheWriteLongTokens),
    outputTokens: Number(counts.outputTokens),
    reasoningTokens: Number(counts.reasoningTokens),
  }
  return { ...sums, costNanoUsd: pricedCalls === 0n ? null : Number(costNanoUsd) }
}
