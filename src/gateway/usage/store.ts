import { writeArray } from '../../database/binary-array.ts'
import type { ElementType, ElementValue } from '../../database/binary-array.ts'
import type { Database } from '../../database/client.ts'
import { joinSql, rawSql, sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import { SESSIONS_CHANNEL, writeNotice } from '../../kernel/agent-session.ts'
import type { Caller } from '../../kernel/caller.ts'
import { NO_KEY } from '../../spending/rules.ts'
import { DAY_COUNTERS, DAY_KEYS, sumByDay } from './days.ts'
import type { DaySum } from './days.ts'
import { writeAttempts } from './events.ts'
import type { CallEvent, CallResult, EventBatch } from './events.ts'
import { sumBySession } from './session-sums.ts'
import type { SessionSum } from './session-sums.ts'
import { sumSpending } from './spending-sums.ts'
import type { SpendingSum } from './spending-sums.ts'

/** The key of the advisory lock that makes gateways write one after the other. */
const WRITERS_LOCK = 5_273_081_114

type Column<Row> = {
  readonly name: string
  readonly type: ColumnType
  readonly of: (row: Row) => ElementValue
}

/** The enumerations have other ids in each database, so their values are sent as texts. */
type ColumnType = ElementType | '"CallEventKind"' | '"Dialect"'

/** The columns of an event. Columns of the result are null while the call runs. */
const EVENT_COLUMNS: readonly Column<CallEvent>[] = [
  { name: 'request_id', type: 'text', of: ({ call }) => call.requestId },
  { name: 'kind', type: '"CallEventKind"', of: ({ kind }) => kind },
  { name: 'at', type: 'timestamptz', of: ({ at }) => at.getTime() },
  { name: 'account_id', type: 'uuid', of: ({ call }) => call.caller.accountId },
  { name: 'team', type: 'text', of: ({ call }) => call.caller.team },
  { name: 'service_account', type: 'text', of: ({ call }) => call.caller.key?.serviceAccount },
  { name: 'device_session_id', type: 'uuid', of: ({ call }) => deviceSessionOf(call.caller) },
  { name: 'key_id', type: 'uuid', of: ({ call }) => call.caller.key?.id },
  { name: 'session_id', type: 'text', of: ({ call }) => call.sessionId },
  { name: 'style', type: 'text', of: ({ call }) => call.dialect },
  { name: 'model', type: 'text', of: ({ call }) => call.model },
  { name: 'served_by', type: 'text', of: ({ call }) => call.servedBy },
  { name: 'attempts', type: 'text', of: ({ result }) => attemptsOf(result) },
  { name: 'outcome', type: 'text', of: ({ result }) => result?.outcome },
  { name: 'status', type: 'int', of: ({ result }) => result?.status },
  { name: 'first_byte_ms', type: 'int', of: ({ result }) => result?.firstByteMs },
  { name: 'duration_ms', type: 'int', of: ({ result }) => result?.durationMs },
  { name: 'uncached_tokens', type: 'int', of: ({ result }) => result?.usage.inputTokens },
  { name: 'cached_tokens', type: 'int', of: ({ result }) => result?.usage.cacheReadTokens },
  { name: 'cache_write_tokens', type: 'int', of: ({ result }) => result?.usage.cacheWriteTokens },
  { name: 'cache_write_long_tokens', type: 'int', of: ({ result }) => result?.usage.cacheWriteLongTokens },
  { name: 'output_tokens', type: 'int', of: ({ result }) => result?.usage.outputTokens },
  { name: 'reasoning_tokens', type: 'int', of: ({ result }) => result?.usage.reasoningTokens },
  { name: 'is_estimated', type: 'boolean', of: ({ result }) => (result?.isEstimated ? true : null) },
  { name: 'cost_nano_usd', type: 'bigint', of: ({ result }) => result?.costNanoUsd },
]

/** The columns of what a batch adds to a session. */
const SESSION_COLUMNS: readonly Column<SessionSum>[] = [
  { name: 'team', type: 'text', of: ({ team }) => team },
  { name: 'account_id', type: 'uuid', of: ({ accountId }) => accountId },
  { name: 'session_id', type: 'text', of: ({ sessionId }) => sessionId },
  { name: 'service_account', type: 'text', of: ({ serviceAccount }) => serviceAccount },
  { name: 'started_at', type: 'timestamptz', of: ({ startedAt }) => startedAt.getTime() },
  { name: 'last_active_at', type: 'timestamptz', of: ({ lastActiveAt }) => lastActiveAt.getTime() },
  { name: 'model', type: 'text', of: ({ model }) => model },
  { name: 'calls', type: 'int', of: ({ calls }) => calls },
  { name: 'failed_calls', type: 'int', of: ({ failedCalls }) => failedCalls },
  { name: 'input_tokens', type: 'bigint', of: ({ inputTokens }) => inputTokens },
  { name: 'output_tokens', type: 'bigint', of: ({ outputTokens }) => outputTokens },
]

/** The columns of what a batch adds to the sums of a day. */
const DAY_COLUMNS: readonly Column<DaySum>[] = [
  ...DAY_KEYS.map(({ name, type }, at): Column<DaySum> => ({ name, type, of: ({ keys }) => keys[at] })),
  ...DAY_COUNTERS.map(({ name, type }, at): Column<DaySum> => ({ name, type, of: ({ counts }) => counts[at] })),
]

/** The columns of what a batch adds to the sums that spending limits count. */
const SPENDING_COLUMNS: readonly Column<SpendingSum>[] = [
  { name: 'team', type: 'text', of: ({ team }) => team },
  { name: 'day', type: 'date', of: ({ day }) => day },
  { name: 'account_id', type: 'uuid', of: ({ accountId }) => accountId },
  { name: 'key_id', type: 'uuid', of: ({ keyId }) => keyId ?? NO_KEY },
  { name: 'spent_nano_usd', type: 'bigint', of: ({ nanoUsd }) => nanoUsd },
  { name: 'unknown_calls', type: 'int', of: ({ unknownCalls }) => unknownCalls },
  { name: 'unpriced_calls', type: 'int', of: ({ unpricedCalls }) => unpricedCalls },
]

const ADDED = rawSql(DAY_COUNTERS.map(({ name }) => `${name} = usage_days.${name} + excluded.${name}`).join(', '))

/** Stores call events, and what they used. */
export function makeCallEventStore(database: Pick<Database, 'execute'>) {
  return {
    /**
     * Saves all events of a batch in their order, adds them to the sums of their days, sessions and spending limits,
     * and announces these sessions; or does nothing of it. Does nothing when the batch was saved before.
     */
    async save({ id, events }: EventBatch): Promise<void> {
      const days = sumByDay(events)
      const spending = sumSpending(events)
      const sessions = sumBySession(events)
      const notice = writeNotice(sessions.map(({ key }) => key))
      // Gateways write one after the other, so that ids become visible in ascending order. Otherwise a reader of the
      // events after some id could miss an event with a smaller id that is committed later. The joins make the database
      // take the lock before it assigns ids. The lock also keeps two batches from updating sums in opposite orders.
      await database.execute(sql`
        WITH batch AS (
          INSERT INTO call_event_batches (id, saved_at) VALUES (${id}, now()) ON CONFLICT DO NOTHING RETURNING id
        ),
        locked AS MATERIALIZED (
          SELECT pg_advisory_xact_lock(${WRITERS_LOCK}::bigint), pg_notify(${SESSIONS_CHANNEL}, ${notice}) FROM batch
        ),
        days AS (
          INSERT INTO usage_days (${namesOf(DAY_COLUMNS)})
          ${rowsOf(DAY_COLUMNS, days)}
          ON CONFLICT (${namesOf(DAY_KEYS)}) DO UPDATE SET ${ADDED}
        ),
        spending AS (
          INSERT INTO spending_days AS spent (${namesOf(SPENDING_COLUMNS)})
          ${rowsOf(SPENDING_COLUMNS, spending)}
          ON CONFLICT (team, day, account_id, key_id) DO UPDATE SET
            spent_nano_usd = spent.spent_nano_usd + excluded.spent_nano_usd,
            unknown_calls = spent.unknown_calls + excluded.unknown_calls,
            unpriced_calls = spent.unpriced_calls + excluded.unpriced_calls
        ),
        sessions AS (
          INSERT INTO agent_sessions AS session (${namesOf(SESSION_COLUMNS)})
          ${rowsOf(SESSION_COLUMNS, sessions)}
          ON CONFLICT (team, account_id, session_id) DO UPDATE SET
            started_at = least(session.started_at, excluded.started_at),
            last_active_at = greatest(session.last_active_at, excluded.last_active_at),
            model = CASE WHEN excluded.last_active_at < session.last_active_at
              THEN session.model ELSE excluded.model END,
            calls = session.calls + excluded.calls,
            failed_calls = session.failed_calls + excluded.failed_calls,
            input_tokens = session.input_tokens + excluded.input_tokens,
            output_tokens = session.output_tokens + excluded.output_tokens
        )
        INSERT INTO call_events (${namesOf(EVENT_COLUMNS)})
        ${rowsOf(EVENT_COLUMNS, events)}`)
    },
  }
}

/** Null where one backend was tried: its name and its status are columns of their own. */
function attemptsOf(result: CallResult | null): string | null {
  return result && result.attempts.length > 1 ? writeAttempts(result.attempts) : null
}

function deviceSessionOf({ sessionKind, sessionId }: Caller): string | null {
  return sessionKind === 'device' ? sessionId : null
}

function namesOf(columns: readonly { readonly name: string }[]): Sql {
  return rawSql(columns.map(({ name }) => name).join(', '))
}

/**
 * Selects rows that are sent as one array for each column, which `unnest` makes rows of. A column whose values are all
 * equal, such as the model, is sent as this value and an empty array, because each value of an array costs the database
 * time. The first column always has an array of all values, so that there is a row for each of them.
 *
 * A query with one row of parameters for each event, as Prisma builds it, costs several times as much. In the list of a
 * SELECT, `unnest` is a fourth faster than behind FROM, where Postgres stores each column before it makes the rows.
 */
function rowsOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Sql {
  const sent = columns.map(({ type, of }, at) => toSent(type, rows.map(of), at))
  return sql`
    SELECT ${joinSql(sent.map(({ value }) => value))}
    FROM (SELECT ${joinSql(sent.map(({ array }) => array))} FROM locked) AS sent`
}

/** The array of a column, and the value of the column in each row. */
function toSent(type: ColumnType, values: readonly ElementValue[], at: number) {
  const name = rawSql(`c${at}`)
  const cast = rawSql(type)
  const elementType = type === '"CallEventKind"' || type === '"Dialect"' ? 'text' : type
  const isSame = at > 0 && values.every((value) => value === values[0])
  // Many small buffers would hold more memory in the thread of an embedded database than texts.
  const array = isSame ? '{}' : writeArray(elementType, values)
  const same = isSame ? toParameter(type, values[0]) : null
  return {
    array: sql`unnest(${array}::${rawSql(elementType)}[]) AS ${name}`,
    value: sql`coalesce(${name}::${cast}, ${same}::${cast})`,
  }
}

function toParameter(type: ColumnType, value: ElementValue): ElementValue {
  return type === 'timestamptz' && typeof value === 'number' ? new Date(value).toISOString() : value
}
