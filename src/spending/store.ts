import type { Database } from '../database/client.ts'
import { sql } from '../database/sql.ts'
import type { Sql } from '../database/sql.ts'
import { spanAt } from './periods.ts'
import type { CalendarSpan } from './periods.ts'
import { addSpent, chooseLimits, counterOf, findCounting, indexLimits, NO_KEY } from './rules.ts'
import type { CountedLimit, LimitIndex, SpendingLimit, Spent } from './rules.ts'

/** The limits with what was spent, and which of the asked batches these sums include. */
export type FoundSpending = { readonly limits: readonly CountedLimit[]; readonly savedBatches: ReadonlySet<string> }

type LimitRow = Omit<SpendingLimit, 'amountNanoUsd'> & { readonly amountNanoUsd: bigint }

/** What was spent by an account with a key in a span. */
type SumRow = {
  readonly savedBatch: null
  /** The index of the span among those that were asked. */
  readonly at: number
  readonly accountId: string
  /** Null for calls without an API key. */
  readonly keyId: string | null
  /** False for a service account. */
  readonly isPerson: boolean
  readonly nanoUsd: bigint
  readonly unknownCalls: bigint
  readonly unpricedCalls: bigint
}

type SavedBatchRow = { readonly savedBatch: string }

/** The limits of a team for one period. */
type LimitGroup = { readonly team: string; readonly span: CalendarSpan; readonly index: LimitIndex<FoundLimit> }

type FoundLimit = CountedLimit & { readonly spent: Map<string, Spent> }

/** Whose limits are meant. Names are `@organization/name`. */
export type LimitedTeams = { readonly teamId: string } | { readonly names: readonly string[] }

export type SpendingStore = ReturnType<typeof makeSpendingStore>

/** Reads spending limits, and what was spent of each. */
export function makeSpendingStore({ query }: Pick<Database, 'query'>) {
  async function findLimits(of: LimitedTeams): Promise<SpendingLimit[]> {
    // A rotated key counts with the keys that it has replaced.
    const rows = await query<LimitRow>(sql`
      SELECT l.id::text, '@' || o.name || '/' || t.name AS team, t.time_zone AS "timeZone", l.subject::text,
        coalesce(l.account_id, l.key_id, l.service_account_id)::text AS "subjectId",
        coalesce(a.email, k.name, s.name) AS "subjectName",
        CASE WHEN l.key_id IS NULL THEN '{}' ELSE ARRAY(
          WITH RECURSIVE chain AS (
            SELECT l.key_id AS id
            UNION SELECT old.id FROM api_keys old JOIN chain ON old.replaced_by_id = chain.id)
          SELECT id::text FROM chain) END AS "keyIds",
        l.period::text, l.amount_nano_usd AS "amountNanoUsd", l.created_at AS "createdAt"
      FROM spending_limits l
      JOIN teams t ON t.id = l.team_id JOIN organizations o ON o.id = t.organization_id
      LEFT JOIN accounts a ON a.id = l.account_id LEFT JOIN api_keys k ON k.id = l.key_id
      LEFT JOIN service_accounts s ON s.id = l.service_account_id
      WHERE ${isOf(of)}
      ORDER BY l.subject, "subjectName", l.period`)
    return rows.map(({ amountNanoUsd, ...row }) => ({ ...row, amountNanoUsd: Number(amountNanoUsd) }))
  }

  /**
   * What was spent by account and key, and the saved ones of these batches. One statement, so both are of one time.
   */
  function findSums(groups: readonly LimitGroup[], batches: readonly string[]): Promise<(SumRow | SavedBatchRow)[]> {
    const column = (of: (group: LimitGroup) => string) => groups.map(of)
    return query<SumRow | SavedBatchRow>(sql`
      SELECT NULL AS "savedBatch", sums.at::int - 1 AS at, account_id::text AS "accountId",
        nullif(key_id::text, ${NO_KEY}) AS "keyId", a.id IS NOT NULL AS "isPerson",
        "nanoUsd", "unknownCalls", "unpricedCalls"
      FROM (
        SELECT s.at, d.account_id, d.key_id, sum(d.spent_nano_usd)::bigint AS "nanoUsd",
          sum(d.unknown_calls)::bigint AS "unknownCalls", sum(d.unpriced_calls)::bigint AS "unpricedCalls"
        FROM unnest(
          ${column(({ team }) => team)}::text[], ${column(({ span }) => span.from)}::date[],
          ${column(({ span }) => span.until)}::date[]
        ) WITH ORDINALITY AS s (team, first_day, next_day, at)
        JOIN spending_days d ON d.team = s.team AND d.day >= s.first_day AND d.day < s.next_day
        GROUP BY s.at, d.account_id, d.key_id
      ) sums LEFT JOIN accounts a ON a.id = account_id
      UNION ALL
      SELECT id, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM call_event_batches WHERE id = ANY (${[...batches]}::text[])`)
  }

  return {
    /** The teams with limits. */
    async findTeams(): Promise<string[]> {
      const rows = await query<{ team: string }>(sql`
        SELECT '@' || o.name || '/' || t.name AS team FROM teams t JOIN organizations o ON o.id = t.organization_id
        WHERE t.id IN (SELECT team_id FROM spending_limits) ORDER BY team`)
      return rows.map(({ team }) => team)
    },

    /**
     * The limits of teams, with what was spent in their periods at this time. `batches`: batches of call events, of
     * which the answer names those that it includes.
     */
    async findSpending(of: LimitedTeams, now: Date, batches: readonly string[] = []): Promise<FoundSpending> {
      const found = await findLimits(of)
      // Batches of other teams, which may have limits, count in a gateway until they are saved.
      if (found.length === 0 && batches.length === 0) return { limits: [], savedBatches: new Set() }
      const spans = makeSpans(now)
      const limits = found.map((limit) => ({ ...limit, span: spans(limit), spent: new Map<string, Spent>() }))
      const byPeriod = Map.groupBy(limits, ({ team, period }) => `${team} ${period}`)
      const groups = [...byPeriod.values()].flatMap(toGroup)
      const rows = await findSums(groups, batches)
      const savedBatches = new Set<string>()
      for (const row of rows) {
        if (row.savedBatch !== null) savedBatches.add(row.savedBatch)
        else addSum(groups[row.at]?.index, row)
      }
      return { limits, savedBatches }
    },
  }
}

/** Adds a sum to each limit of its group that counts it. */
function addSum(index: LimitGroup['index'] | undefined, sum: SumRow): void {
  for (const limit of chooseLimits(findCounting(index, sum), sum.isPerson)) {
    addSpent(limit.spent, counterOf(limit, sum), toSpent(sum))
  }
}

function isOf(of: LimitedTeams): Sql {
  if ('teamId' in of) return sql`l.team_id = ${of.teamId}::uuid`
  return sql`'@' || o.name || '/' || t.name = ANY (${[...of.names]}::text[])`
}

/** Makes a function for the span of a limit. Limits of the same zone and period share one. */
function makeSpans(now: Date): (limit: Pick<SpendingLimit, 'period' | 'timeZone'>) => CalendarSpan {
  const spans = new Map<string, CalendarSpan>()
  return ({ period, timeZone }) => {
    const id = `${period} ${timeZone}`
    const span = spans.get(id) ?? spanAt(period, timeZone, now)
    spans.set(id, span)
    return span
  }
}

/** Makes the group of the limits of one team and period; an empty list where there are no limits. */
function toGroup(limits: readonly FoundLimit[]): LimitGroup[] {
  return limits.slice(0, 1).map(({ team, span }) => ({ team, span, index: indexLimits(limits) }))
}

/** Sums stay far below 2^53, which is 9 million USD. */
function toSpent({ nanoUsd, unknownCalls, unpricedCalls }: SumRow): Spent {
  return { nanoUsd: Number(nanoUsd), unknownCalls: Number(unknownCalls), unpricedCalls: Number(unpricedCalls) }
}
