import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { CallEvent } from './events.ts'

/** Any number, as long as every gateway uses the same and nobody else does. */
const WRITERS_LOCK = 5_273_081_114

/** The rows of call events. */
export function callEventStore(db: PrismaClient) {
  return {
    /** Saves these events in their order; one that was saved before is left out. */
    async save(events: readonly CallEvent[]): Promise<void> {
      await db.$transaction([
        // Gateways write one after the other, so that ids become visible in their order: a reader that asks for what comes after
        // an id never misses one that was given out earlier and committed later.
        db.$executeRaw`SELECT pg_advisory_xact_lock(${WRITERS_LOCK}::bigint)`,
        db.callEvent.createMany({ data: events.map(toRow), skipDuplicates: true }),
      ])
    },
  }
}

function toRow({ kind, at, call, result }: CallEvent) {
  const { requestId, caller, sessionId, style, model, servedBy } = call
  const { accountId, team, sessionId: deviceSessionId } = caller
  const facts = { kind, at, requestId, accountId, team, deviceSessionId, sessionId, style, model, servedBy }
  if (!result) return facts
  const { usage, ...told } = result
  return { ...facts, ...told, ...usage }
}
