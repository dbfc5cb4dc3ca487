import type { Database } from '../../database/client.ts'
import { NO_SQL, sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import type { AgentSession } from '../../kernel/agent-session.ts'
import { HOUR_MS } from '../../kernel/durations.ts'
import type { TeamName } from '../../kernel/team-name.ts'
import type { SessionCursor, StoredEvent } from './rules.ts'

/** A session in the list of its team. */
export type ListedSession = {
  readonly accountId: string
  readonly sessionId: string
  /** An email address, or `service:NAME`. */
  readonly account: string
  readonly model: string
  readonly calls: number
  readonly failedCalls: number
  readonly runningCalls: number
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  readonly startedAt: Date
  readonly lastActiveAt: Date
}

/** A position in the events of a session: the id of the event that it is behind. */
export type SessionPosition = AgentSession & { readonly after: bigint }

type Query = {
  readonly team: string
  /** An email address or `service:NAME`; null: of all accounts. */
  readonly account: string | null
  /** Null: from the most recent one. */
  readonly before: SessionCursor | null
  readonly limit: number
}

/** How many of the latest events of a session are searched for running calls. */
const MAX_EVENTS_OF_RUNNING = 100

export type AgentSessionStore = ReturnType<typeof makeAgentSessionStore>

/** The sessions and events that gateways have written (src/gateway/usage/store.ts). */
export function makeAgentSessionStore({ prisma: db }: Pick<Database, 'prisma'>) {
  /** The condition for the sessions of an account; null when there is no such account. */
  async function findCondition(account: string | null): Promise<Sql | null> {
    if (account === null) return NO_SQL
    if (account.startsWith('service:')) return sql`AND session.service_account = ${account}`
    const person = await db.account.findUnique({ where: { email: account }, select: { id: true } })
    return person && sql`AND session.account_id = ${person.id}::uuid`
  }

  return {
    /** The sessions of a team, the most recently active first. */
    async list({ team, account, before, limit }: Query, now: Date): Promise<ListedSession[]> {
      const ofAccount = await findCondition(account)
      if (!ofAccount) return []
      const behind =
        before === null
          ? NO_SQL
          : sql`AND (session.last_active_at, session.account_id, session.session_id)
              < (${before.lastActiveAt}, ${before.accountId}::uuid, ${before.sessionId})`
      const hourAgo = new Date(now.getTime() - HOUR_MS)
      return db.$queryRaw<ListedSession[]>`
        SELECT session.account_id::text AS "accountId", session.session_id AS "sessionId",
          coalesce(session.service_account, person.email, '') AS account, session.model, session.calls,
          session.failed_calls AS "failedCalls", session.input_tokens AS "inputTokens",
          session.output_tokens AS "outputTokens", session.started_at AS "startedAt",
          session.last_active_at AS "lastActiveAt",
          CASE WHEN session.last_active_at < ${hourAgo} THEN 0 ELSE (
            SELECT count(*)::int FROM (
              SELECT 1 FROM (
                SELECT request_id, kind, at FROM call_events
                WHERE team = session.team AND session_id = session.session_id AND account_id = session.account_id
                ORDER BY id DESC LIMIT ${MAX_EVENTS_OF_RUNNING}::int
              ) AS latest
              GROUP BY request_id HAVING bool_and(kind IN ('started', 'retried')) AND max(at) > ${hourAgo}
            ) AS running
          ) END AS "runningCalls"
        FROM agent_sessions AS session LEFT JOIN accounts AS person ON person.id = session.account_id
        WHERE session.team = ${team} ${ofAccount} ${behind}
        ORDER BY session.last_active_at DESC, session.account_id DESC, session.session_id DESC
        LIMIT ${limit}::int`
    },

    /** The account of an address that is or was a member of the team; null when there is none. */
    async findPerson({ organization, name }: TeamName, email: string): Promise<string | null> {
      const row = await db.invitation.findFirst({
        where: { account: { email }, team: { name, organization: { name: organization } } },
        select: { accountId: true },
      })
      return row && row.accountId
    },

    /** The service account `service:NAME` of the team whose calls have this session id; null when there is none. */
    async findServiceAccount(team: string, serviceAccount: string, sessionId: string): Promise<string | null> {
      const row = await db.agentSession.findFirst({
        where: { team, serviceAccount, sessionId },
        orderBy: { lastActiveAt: 'desc' },
        select: { accountId: true },
      })
      return row && row.accountId
    },

    /** For each position, the next events behind it in their order, at most `limit`. One statement for all. */
    async findEvents(positions: readonly SessionPosition[], limit: number): Promise<StoredEvent[][]> {
      const asked = positions.map(({ after, ...session }, index) => ({ index, ...session, after: String(after) }))
      const rows = await db.$queryRaw<(StoredEvent & { index: number })[]>`
        SELECT asked.index, event.*
        FROM jsonb_to_recordset(${JSON.stringify(asked)}::jsonb)
            AS asked(index int, team text, "accountId" uuid, "sessionId" text, after bigint),
          LATERAL (
            SELECT id, kind::text, at, request_id AS "requestId", style AS dialect, model,
              served_by AS "servedBy", attempts, outcome, status,
              first_byte_ms AS "firstByteMs", duration_ms AS "durationMs",
              -- The sum of what a backend reported can be larger than the contract's largest integer. LEAST ignores
              -- null, so a number that is not known has to be left out first.
              coalesce(input_tokens, CASE WHEN uncached_tokens IS NOT NULL THEN least(2147483647,
                uncached_tokens::bigint + coalesce(cached_tokens, 0) + coalesce(cache_write_tokens, 0)
                + coalesce(cache_write_long_tokens, 0))::int END) AS "inputTokens",
              cached_tokens AS "cachedTokens", output_tokens AS "outputTokens", reasoning_tokens AS "reasoningTokens",
              -- A number that JSON can hold: 2^53 of them are nine million dollars.
              cost_nano_usd::float8 AS "costNanoUsd"
            FROM call_events
            WHERE team = asked.team AND session_id = asked."sessionId" AND account_id = asked."accountId"
              AND id > asked.after
            ORDER BY id LIMIT ${limit}::int
          ) AS event
        ORDER BY asked.index, event.id`
      const found = positions.map((): StoredEvent[] => [])
      for (const { index, ...event } of rows) found[index]?.push(event)
      return found
    },

    /** The id of the newest event of all; 0 when there is none. */
    async findNewestId(): Promise<bigint> {
      const newest = await db.callEvent.findFirst({ orderBy: { id: 'desc' }, select: { id: true } })
      return newest?.id ?? 0n
    },
  }
}
