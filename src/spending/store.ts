import { Prisma } from '../../generated/prisma/client.ts'
import type { PrismaClient } from '../../generated/prisma/client.ts'
import { spanAt } from './periods.ts'
import type { CalendarSpan, Period } from './periods.ts'
import type { CountedLimit, SpendingLimit, Spent, Subject } from './rules.ts'

/** The limits with what was spent, and which of the asked batches these sums include. */
export type FoundSpending = { readonly limits: readonly CountedLimit[]; readonly savedBatches: ReadonlySet<string> }

type LimitRow = Omit<SpendingLimit, 'amountNanoUsd' | 'period' | 'subject'> & {
  readonly subject: Subject
  readonly period: Period
  readonly amountNanoUsd: bigint
}

type SumRow = {
  /** Null for a row that names a saved batch. */
  readonly limitId: string | null
  /** Of a limit of each member: the account. Of a saved batch: its id. */
  readonly of: string | null
  readonly nanoUsd: bigint
  readonly unknownCalls: bigint
  readonly unpricedCalls: bigint
}

const SUMS = Prisma.raw(
  'sum(d.spent_nano_usd)::bigint AS "nanoUsd", sum(d.unknown_calls)::bigint AS "unknownCalls", ' +
    'sum(d.unpriced_calls)::bigint AS "unpricedCalls"',
)

const IN_PERIOD = Prisma.raw('d.day >= l.first_day AND d.day < l.next_day')

export type SpendingStore = ReturnType<typeof makeSpendingStore>

/** Reads spending limits, and what was spent of each. */
export function makeSpendingStore(db: PrismaClient) {
  /** The limits of a team, or of all teams. */
  async function findLimits(teamId: string | null): Promise<SpendingLimit[]> {
    // A rotated key counts with the keys that it has replaced.
    const rows = await db.$queryRaw<LimitRow[]>`
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
      WHERE ${teamId === null ? Prisma.sql`true` : Prisma.sql`l.team_id = ${teamId}::uuid`}
      ORDER BY l.subject, "subjectName", l.period`
    return rows.map(({ amountNanoUsd, ...row }) => ({ ...row, amountNanoUsd: Number(amountNanoUsd) }))
  }

  /**
   * What was spent of the limits, and the saved ones of these batches, in one statement: they belong together. A branch
   * for each way in which a limit counts lets the database read the days once for all limits of that way. With one
   * condition for all of them it would read the days of the team again for each limit.
   */
  function findSums(limits: readonly CountedLimit[], batches: readonly string[]): Promise<SumRow[]> {
    const column = (of: (limit: CountedLimit) => string) => limits.map(of)
    return db.$queryRaw<SumRow[]>`
      WITH l AS (
        SELECT id, team, first_day, next_day, subject, nullif(subject_id, '')::uuid AS subject_id,
          key_ids::uuid[] AS key_ids
        FROM unnest(
          ${column(({ id }) => id)}::text[], ${column(({ team }) => team)}::text[],
          ${column(({ span }) => span.from)}::date[], ${column(({ span }) => span.until)}::date[],
          ${column(({ subject }) => subject)}::text[], ${column(({ subjectId }) => subjectId ?? '')}::text[],
          ${column(({ keyIds }) => `{${keyIds.join(',')}}`)}::text[]
        ) AS given (id, team, first_day, next_day, subject, subject_id, key_ids)
      )
      SELECT l.id AS "limitId", CASE WHEN l.subject = 'members' THEN d.account_id::text END AS of, ${SUMS}
      FROM l JOIN spending_days d ON d.team = l.team AND ${IN_PERIOD}
      WHERE l.subject IN ('team', 'members') GROUP BY 1, 2
      UNION ALL
      SELECT l.id, NULL, ${SUMS}
      FROM l JOIN spending_days d ON d.team = l.team AND d.account_id = l.subject_id AND ${IN_PERIOD}
      WHERE l.subject IN ('member', 'service_account') GROUP BY 1
      UNION ALL
      SELECT l.id, NULL, ${SUMS}
      FROM l CROSS JOIN unnest(l.key_ids) AS k (id)
        JOIN spending_days d ON d.team = l.team AND d.key_id = k.id AND ${IN_PERIOD}
      WHERE l.subject = 'key' GROUP BY 1
      UNION ALL
      SELECT NULL, id, 0, 0, 0 FROM call_event_batches WHERE id = ANY (${[...batches]}::text[])`
  }

  return {
    /**
     * The limits of a team, or of all teams, with what was spent in their periods at this time. `batches`: batches of
     * call events, of which the answer names those that it includes.
     */
    async findSpending(
      now: Date,
      { teamId = null, batches = [] }: { readonly teamId?: string | null; readonly batches?: readonly string[] } = {},
    ): Promise<FoundSpending> {
      const found = await findLimits(teamId)
      if (found.length === 0) return { limits: [], savedBatches: new Set(batches) }
      const spans = new Map<string, CalendarSpan>()
      const limits = found.map((limit) => {
        const { period, timeZone } = limit
        // Thousands of limits have few different periods, and a span of a time zone takes 0.1 ms.
        const span = spans.get(`${period} ${timeZone}`) ?? spanAt(period, timeZone, now)
        spans.set(`${period} ${timeZone}`, span)
        return { ...limit, span, spent: new Map<string, Spent>() }
      })
      const byId = new Map(limits.map((limit) => [limit.id, limit]))
      const rows = await findSums(limits, batches)
      for (const { limitId, of, ...sums } of rows) {
        if (limitId === null) continue
        byId.get(limitId)?.spent.set(of === null ? limitId : `${limitId}/${of}`, toSpent(sums))
      }
      const saved = rows.filter(({ limitId }) => limitId === null).map(({ of }) => of ?? '')
      return { limits, savedBatches: new Set(saved) }
    },
  }
}

/** Sums stay far below 2^53, which is 9 million USD. */
function toSpent({ nanoUsd, unknownCalls, unpricedCalls }: Omit<SumRow, 'limitId' | 'of'>): Spent {
  return { nanoUsd: Number(nanoUsd), unknownCalls: Number(unknownCalls), unpricedCalls: Number(unpricedCalls) }
}
