import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import type { Statements } from '../../database/statements.ts'
import type { RevokeReason } from './end-device-sessions.ts'

/** How many devices of one account stay signed in. The one that was seen longest ago makes room. */
export const MAX_DEVICES = 50

/** What the completion of a session did. */
export type Completion = {
  /** True for exactly one caller, which then tells the owner of the account by email. */
  readonly claimedNotice: boolean
  /** The ids of the sessions that ended. */
  readonly replaced: readonly string[]
}

const REPLACED: RevokeReason = 'replaced'
const SURPLUS: RevokeReason = 'surplus'

/**
 * Completes a session that was saved: claims the notice, and ends those of the account's other sessions that it
 * replaces, each with its audit row. They are the sessions of the same device, and of other devices those beyond
 * `MAX_DEVICES` that were seen longest ago. Does nothing when it was done before, or when the session has ended.
 */
export async function completeSession(database: Statements, id: string, now: Date, ip: string): Promise<Completion> {
  // It sees every session that was committed before, so the later of two new sessions of a device ends the other one.
  // With the lock, two that see each other do not end each other: the second one finds itself ended.
  const [completion] = await database.query<Completion>(sql`
    WITH owner AS (
      SELECT account.id FROM device_sessions session
      JOIN invitations invitation ON invitation.id = session.invitation_id
      JOIN accounts account ON account.id = invitation.account_id
      WHERE session.id = ${id}::uuid FOR NO KEY UPDATE OF account
    ), noticed AS (
      UPDATE device_sessions session SET notice_taken_at = ${now}::timestamptz FROM owner
      WHERE session.id = ${id}::uuid AND notice_taken_at IS NULL AND revoked_at IS NULL
      RETURNING session.id, device_id, owner.id AS account_id
    ), others AS (
      SELECT other.id, is_same_device,
        row_number() OVER (PARTITION BY is_same_device ORDER BY last_seen_at DESC, other.id DESC) AS place
      FROM noticed
      JOIN invitations membership USING (account_id)
      -- With OFFSET 0, no plan reads the live sessions of all accounts.
      CROSS JOIN LATERAL (SELECT * FROM device_sessions WHERE invitation_id = membership.id OFFSET 0) other
      CROSS JOIN LATERAL (SELECT other.device_id = noticed.device_id AS is_same_device) compared
      WHERE other.id <> noticed.id AND other.revoked_at IS NULL
        AND (is_same_device OR idle_expires_at > ${now}::timestamptz)
    ), ended AS (
      UPDATE device_sessions session SET revoked_at = ${now}::timestamptz,
        revoked_reason = CASE WHEN is_same_device THEN ${REPLACED} ELSE ${SURPLUS} END
      FROM others
      WHERE session.id = others.id AND ${isLive(sql`session`)} AND (is_same_device OR place >= ${MAX_DEVICES}::int)
      RETURNING session.id, invitation_id, revoked_reason
    ), browsers AS (
      UPDATE browser_sessions browser SET revoked_at = ${now}::timestamptz, revoked_reason = ended.revoked_reason
      FROM ended WHERE device_session_id = ended.id AND ${isLive(sql`browser`)}
    ), events AS (
      INSERT INTO audit_events (at, kind, account_id, team_id, subject_id, ip, details)
      SELECT ${now}::timestamptz, 'device_session.revoked', account_id, team_id, ended.id, ${ip},
        jsonb_build_object('reason', revoked_reason)
      FROM ended JOIN invitations invitation ON invitation.id = invitation_id
    )
    SELECT EXISTS (SELECT FROM noticed) AS "claimedNotice", ARRAY(SELECT id::text FROM ended) AS replaced`)
  return completion ?? { claimedNotice: false, replaced: [] }
}

/**
 * Whether a session has not ended. `IS NULL` alone has an index, which a plan for small tables would use and keep: it
 * would read the live sessions of all accounts.
 */
export const isLive = (session: Sql): Sql => sql`CASE WHEN ${session}.revoked_at IS NULL THEN true ELSE false END`
