import { Prisma } from '../../../generated/prisma/client.ts'
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { Caller } from '../../kernel/caller.ts'
import { COUNTERS, KEYS, sumByDay } from './days.ts'
import { writeAttempts } from './events.ts'
import type { CallEvent, EventBatch } from './events.ts'

/** The key of the advisory lock that makes gateways write one after the other. */
const WRITERS_LOCK = 5_273_081_114

type Value = string | number | boolean | null | undefined

type Column = { readonly name: string; readonly type: string; readonly of: (event: CallEvent) => Value }

/** The columns of an event. Columns of the result are null while the call runs. */
const COLUMNS: readonly Column[] = [
  { name: 'kind', type: '"CallEventKind"', of: ({ kind }) => kind },
  { name: 'at', type: 'timestamptz', of: ({ at }) => at.toISOString() },
  { name: 'request_id', type: 'text', of: ({ call }) => call.requestId },
  { name: 'account_id', type: 'uuid', of: ({ call }) => call.caller.accountId },
  { name: 'team', type: 'text', of: ({ call }) => call.caller.team },
  { name: 'service_account', type: 'text', of: ({ call }) => call.caller.key?.serviceAccount },
  { name: 'device_session_id', type: 'uuid', of: ({ call }) => deviceSessionOf(call.caller) },
  { name: 'key_id', type: 'uuid', of: ({ call }) => call.caller.key?.id },
  { name: 'session_id', type: 'text', of: ({ call }) => call.sessionId },
  { name: 'style', type: 'text', of: ({ call }) => call.dialect },
  { name: 'model', type: 'text', of: ({ call }) => call.model },
  { name: 'served_by', type: 'text', of: ({ call }) => call.servedBy },
  { name: 'attempts', type: 'text', of: ({ result }) => result && writeAttempts(result.attempts) },
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

const NAMES = listNames(COLUMNS)

const DAY_NAMES = listNames([...KEYS, ...COUNTERS])

const ADDED = Prisma.raw(COUNTERS.map(({ name }) => `${name} = usage_days.${name} + excluded.${name}`).join(', '))

/** Stores call events, and what they used. */
export function callEventStore(db: PrismaClient) {
  return {
    /**
     * Saves all events of a batch in their order and adds them to the sums of their days, or does neither. Does nothing
     * when the batch was saved before.
     */
    async save({ id, events }: EventBatch): Promise<void> {
      // One statement with one parameter for each column. A query with one row per event, as Prisma builds it, costs
      // several times as much.
      const columns = COLUMNS.map(({ type, of }) => toColumn(type, events.map(of)))
      const days = sumByDay(events)
      const dayColumns = [
        ...KEYS.map(({ type }, at) =>
          toColumn(
            type,
            days.map(({ keys }) => keys[at]),
          ),
        ),
        ...COUNTERS.map(({ type }, at) =>
          toColumn(
            type,
            days.map(({ counts }) => counts[at]),
          ),
        ),
      ]
      // Gateways write one after the other, so that ids become visible in ascending order. Otherwise a reader of the
      // events after some id could miss an event with a smaller id that is committed later. The join makes the database
      // take the lock before it assigns ids. It also keeps two batches from updating sums in opposite orders.
      await db.$executeRaw`
        WITH batch AS (
          INSERT INTO call_event_batches (id, saved_at) VALUES (${id}, now()) ON CONFLICT DO NOTHING RETURNING id
        ), locked AS MATERIALIZED (
          SELECT pg_advisory_xact_lock(${WRITERS_LOCK}::bigint) FROM batch
        ), days AS (
          INSERT INTO usage_days (${DAY_NAMES})
          SELECT day.* FROM locked, unnest(${Prisma.join(dayColumns)}) AS day
          ON CONFLICT (${listNames(KEYS)}) DO UPDATE SET ${ADDED}
        )
        INSERT INTO call_events (${NAMES})
        SELECT event.* FROM locked, unnest(${Prisma.join(columns)}) AS event`
    },
  }
}

function listNames(columns: readonly { readonly name: string }[]): Prisma.Sql {
  return Prisma.raw(columns.map(({ name }) => name).join(', '))
}

function toColumn(type: string, values: readonly Value[]): Prisma.Sql {
  return Prisma.sql`${arrayOf(values)}::text::${Prisma.raw(type)}[]`
}

function deviceSessionOf({ sessionKind, sessionId }: Caller): string | null {
  return sessionKind === 'device' ? sessionId : null
}

/** Writes an array in the syntax of Postgres (manual, section 8.15.6). Texts are quoted, so none is read as syntax. */
function arrayOf(values: readonly Value[]): string {
  return `{${values.map((value) => (typeof value === 'string' ? quote(value) : (value ?? 'NULL'))).join(',')}}`
}

function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}
