import { Prisma } from '../../../generated/prisma/client.ts'
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { NIL_UUID } from '../../kernel/uuid.ts'
import type { UsageGrouping, UsageRow, UsageSums } from './report.ts'
import type { ReportPeriod } from './rules.ts'

/** Whose calls a report is about. */
export type ReportSubject = {
  /** `@organization/name`. */
  readonly team: string
  /** Null: everyone in the team. */
  readonly accountId: string | null
}

/** More rows than this are left out of a report. */
const MAX_ROWS = 1000

/** The column that a row is about, and where its name is. */
const GROUPINGS: Readonly<Record<UsageGrouping, { readonly column: string; readonly name: string }>> = {
  day: { column: 'day', name: 'NULL' },
  model: { column: 'model', name: 'NULL' },
  member: {
    column: 'account_id',
    name: `coalesce(
      (SELECT email FROM accounts WHERE accounts.id = sums.id),
      (SELECT 'service:' || name FROM service_accounts WHERE service_accounts.id = sums.id))`,
  },
  key: { column: 'key_id', name: '(SELECT name FROM api_keys WHERE api_keys.id = sums.id)' },
  backend: { column: 'backend', name: 'NULL' },
  dialect: { column: 'dialect', name: 'NULL' },
}

/** Calls without an API key have this id of a key. */
const NO_KEY = NIL_UUID

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

const SUMS = Prisma.raw(
  Object.entries(COUNTERS)
    .map(([name, column]) => `sum(${column})::bigint AS "${name}"`)
    .join(', '),
)

const TOTALS = Prisma.raw(NAMES.map((name) => `coalesce(sum(${name}), 0)::bigint AS ${name}`).join(', '))

/** Finds sums of usage. */
export function makeUsageStore(db: PrismaClient) {
  return {
    /** The sums of a period by a grouping, in the order of a report, and the sum of all of them. */
    async findSums(
      { team, accountId }: ReportSubject,
      { from, to }: ReportPeriod,
      by: UsageGrouping,
    ): Promise<FoundSums> {
      const column = Prisma.raw(GROUPINGS[by].column)
      const isWhose = accountId === null ? Prisma.sql`true` : Prisma.sql`account_id = ${accountId}::uuid`
      const order = by === 'day' ? Prisma.sql`id` : Prisma.sql`"costNanoUsd" DESC, calls DESC, id`
      // The total is the sum of the rows, of which there are far fewer than sums of days.
      const found = await db.$queryRaw<SumRow[]>`
        WITH sums AS MATERIALIZED (
          SELECT ${column} AS id, ${SUMS} FROM usage_days
          WHERE team = ${team} AND day BETWEEN ${from}::date AND ${to}::date AND ${isWhose}
          GROUP BY ${column}
        ), shown AS (SELECT * FROM sums ORDER BY ${order} LIMIT ${MAX_ROWS + 1})
        SELECT true AS "isTotal", NULL AS id, NULL AS name, ${TOTALS} FROM sums
        UNION ALL
        SELECT false, nullif(id::text, ${NO_KEY}), ${Prisma.raw(GROUPINGS[by].name)}, ${Prisma.raw(NAMES.join(', '))}
        FROM shown AS sums`
      const total = found.find(({ isTotal }) => isTotal)
      // The sum of all is there for a period without calls too.
      if (!total) throw new Error('The sum of all rows is missing.')
      const rows = found.filter(({ isTotal }) => !isTotal)
      return {
        rows: rows.slice(0, MAX_ROWS).map((row) => ({ id: row.id, name: row.name, ...toSums(row) })),
        isTruncated: rows.length > MAX_ROWS,
        total: toSums(total),
      }
    },
  }
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
