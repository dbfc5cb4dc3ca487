import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'

/** Audit events that a statement writes together with its change: one for each subject, equal but for the subject. */
type InsertedEvents = {
  /** What happened, such as `device_login.approved`. */
  readonly kind: string
  readonly at: Date
  readonly ip: string
  readonly details: object
  /** A query of the statement for the subjects: the id, the account and the team of each, in this order. */
  readonly subjects: Sql
}

/** The part of a statement that writes the audit events of its change. Without a subject it writes nothing. */
export function insertEvents({ kind, at, ip, details, subjects }: InsertedEvents): Sql {
  return sql`
    INSERT INTO audit_events (at, kind, account_id, team_id, subject_id, ip, details)
    SELECT ${at}::timestamptz, ${kind}, account_id, team_id, id, ${ip}, ${JSON.stringify(details)}::jsonb
    FROM (${subjects}) AS subject (id, account_id, team_id)`
}
