import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { CallEvent } from './events.ts'

/** Any number, as long as every gateway uses the same and nobody else does. */
const WRITERS_LOCK = 5_273_081_114

/** The rows of call events. */
export function callEventStore(db: PrismaClient) {
  return {
    /** Saves these events in their order, all of them or none; one that was saved before is left out. */
    async save(events: readonly CallEvent[]): Promise<void> {
      // One statement with one parameter, because a query that Prisma builds of as many rows costs several times as much.
      const rows = JSON.stringify(events.map(toRow))
      // Gateways write one after the other, so that ids become visible in their order: a reader that asks for what comes after
      // an id never misses one that was given out earlier and committed later. Ids are given to rows of the join, thus after the lock.
      await db.$executeRaw`
        INSERT INTO call_events (
          kind, at, request_id, account_id, team, device_session_id, session_id, style, model, served_by,
          outcome, status, first_byte_ms, duration_ms, input_tokens, output_tokens, cached_tokens
        )
        SELECT event.*
        FROM
          (SELECT pg_advisory_xact_lock(${WRITERS_LOCK}::bigint) OFFSET 0) AS locked,
          json_to_recordset(${rows}::json) AS event(
            "kind" "CallEventKind", "at" timestamptz, "requestId" text, "accountId" uuid, "team" text,
            "deviceSessionId" uuid, "sessionId" text, "style" text, "model" text, "servedBy" text,
            "outcome" text, "status" int, "firstByteMs" int, "durationMs" int,
            "inputTokens" int, "outputTokens" int, "cachedTokens" int
          )
        ON CONFLICT (request_id, kind) DO NOTHING`
    },
  }
}

/** The names are those that the statement reads; what is missing is null. */
function toRow({ kind, at, call, result }: CallEvent) {
  const { requestId, caller, sessionId, style, model, servedBy } = call
  const { accountId, team, sessionId: deviceSessionId } = caller
  const facts = { kind, at, requestId, accountId, team, deviceSessionId, sessionId, style, model, servedBy }
  if (!result) return facts
  const { usage, ...told } = result
  return { ...facts, ...told, ...usage }
}
