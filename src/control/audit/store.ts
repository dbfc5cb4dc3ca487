import type { Database } from '../../database/client.ts'
import { PLANNED_FOR_VALUES } from '../../database/planned-for-values.ts'
import { joinSql, NO_SQL, rawSql, sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import type { TimeCursor } from '../paging.ts'
import type { AuditRow } from './rules.ts'

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
  readonly before: TimeCursor | null
  readonly limit: number
}

export type AuditStore = ReturnType<typeof makeAuditStore>

/** Reads the audit log of a team. */
export function makeAuditStore({ prisma: db }: Pick<Database, 'prisma'>) {
  /** The condition for whose events are wanted. Null: the address has no account, so it has no events. */
  async function findActor(actor: string | null): Promise<Sql | null> {
    if (actor === null) return sql`true`
    if (actor === 'file') return sql`(${OF_FILE} OR account_id IS NULL AND NOT ${OF_ADMIN} AND ${IS_RARE})`
    const account = await db.account.findUnique({ where: { email: actor }, select: { id: true } })
    if (!account) return null
    const { id } = account
    return sql`
      NOT coalesce(${OF_FILE}, false)
      AND (account_id = ${id}::uuid AND NOT ${OF_ADMIN} OR details->>'adminId' = ${id})`
  }

  return {
    /** The newest events of a team that fit, the newest first. */
    async find(teamId: string, { actor, action, from, to, before, limit }: AuditQuery): Promise<AuditRow[]> {
      const ofActor = await findActor(actor)
      if (!ofActor) return []
      const conditions = [
        sql`team_id = ${teamId}::uuid`,
        ...(action ? [sql`(kind = ${action} OR starts_with(kind, ${`${action}.`}))`] : []),
        ...(action && !isFrequent(action) ? [IS_RARE] : []),
        ...(from ? [sql`at >= ${from}`] : []),
        ...(to ? [sql`at < ${to}`] : []),
        ...(before ? [sql`(at, id) < (${before.at}, ${before.id}::bigint)`] : []),
        ofActor,
      ]
      // With OFFSET 0, the events of an account are found by their indexes. Otherwise the database expects to find
      // enough of them among the latest of the team, and may read all of the team.
      const fence = actor === null || actor === 'file' ? NO_SQL : sql`OFFSET 0`
      return db.$queryRaw<AuditRow[]>`${rawSql(PLANNED_FOR_VALUES)}
        SELECT e.id::text, e.at, e.kind, e.actor_id::text AS "actorId", actor.email AS "actorEmail",
          person.email AS "personEmail", e.subject_id AS "subjectId", e.ip, e.details
        FROM (
          SELECT *, CASE WHEN ${OF_FILE} THEN NULL
            ELSE coalesce((details->>'adminId')::uuid, account_id) END AS actor_id
          FROM (SELECT * FROM audit_events WHERE ${joinSql(conditions, ' AND ')} ${fence}) AS found
          ORDER BY at DESC, id DESC LIMIT ${limit}::int
        ) e
        LEFT JOIN accounts actor ON actor.id = e.actor_id
        LEFT JOIN accounts person ON person.id = e.account_id
        ORDER BY e.at DESC, e.id DESC`
    },
  }
}

/** Sign-ins and sign-outs, of which a large team has millions. */
const FREQUENT_KINDS = [
  'device_login.started',
  'device_login.approved',
  'device_session.opened',
  'device_session.revoked',
  'browser_session.opened',
  'browser_session.revoked',
  'passkey.signed_in',
  'sign_in_link.requested',
]

/**
 * The conditions of the index `audit_events_of_changes_idx`, which has all other events, and those that admins and the
 * directory file made. Without it, a search for few of the events of a large team would read all of them.
 */
const IS_RARE = rawSql(`kind NOT IN (${FREQUENT_KINDS.map((kind) => `'${kind}'`).join(', ')})`)
const OF_ADMIN = rawSql("(details->>'adminId' IS NOT NULL)")
const OF_FILE = rawSql("(details->>'by' = 'directory')")

function isFrequent(action: string): boolean {
  return FREQUENT_KINDS.some((kind) => kind === action || kind.startsWith(`${action}.`))
}
