import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { PLANNED_FOR_VALUES } from '../../database/planned-for-values.ts'
import { joinSql, rawSql, sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import type { AuditCursor, AuditRow } from './rules.ts'

/** Which events of a team to find. */
export type AuditQuery = {
  /** The email address of the author, or `file` for the directory file. */
  readonly actor: string | null
  /** A kind of event, or what several kinds begin with before the dot. */
  readonly action: string | null
  readonly from: Date | null
  /** Exclusive. */
  readonly to: Date | null
  /** Only events before this one. */
  readonly before: AuditCursor | null
  readonly limit: number
}

export type AuditStore = ReturnType<typeof makeAuditStore>

/** Reads the audit log of a team. */
export function makeAuditStore(db: PrismaClient) {
  return {
    /** The newest events of a team that fit, the newest first. */
    async find(teamId: string, { actor, action, from, to, before, limit }: AuditQuery): Promise<AuditRow[]> {
      const conditions = [
        sql`team_id = ${teamId}::uuid`,
        ...(action ? [sql`(kind = ${action} OR starts_with(kind, ${`${action}.`}))`] : []),
        ...(from ? [sql`at >= ${from}`] : []),
        ...(to ? [sql`at < ${to}`] : []),
        ...(before ? [sql`(at, id) < (${before.at}, ${before.id}::bigint)`] : []),
      ]
      return db.$queryRaw<AuditRow[]>`${rawSql(PLANNED_FOR_VALUES)}
        SELECT e.id::text, e.at, e.kind, e.actor_id::text AS "actorId", actor.email AS "actorEmail",
          person.email AS "personEmail", e.subject_id AS "subjectId", e.ip, e.details
        FROM (
          SELECT *, CASE WHEN details->>'by' = 'directory' THEN NULL
            ELSE coalesce((details->>'adminId')::uuid, account_id) END AS actor_id
          FROM audit_events WHERE ${joinSql(conditions, ' AND ')}
        ) e
        LEFT JOIN accounts actor ON actor.id = e.actor_id
        LEFT JOIN accounts person ON person.id = e.account_id
        WHERE ${isBy(actor)}
        ORDER BY e.at DESC, e.id DESC LIMIT ${limit}::int`
    },
  }
}

function isBy(actor: string | null): Sql {
  if (actor === null) return sql`true`
  return actor === 'file' ? sql`e.actor_id IS NULL` : sql`actor.email = ${actor}`
}
