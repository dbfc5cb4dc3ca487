import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import type { Statements } from '../../database/statements.ts'
import { insertEvents } from '../audit/insert-events.ts'
import { beginSession } from '../browser-session/store.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import { SESSION_COLUMNS, withPeople } from './rows.ts'
import type { SessionRow } from './rows.ts'
import type { ApprovedVia } from './rules.ts'

/** A device that signs in, and with what: an approved login, or a passkey. */
export type SignedInDevice = {
  /** Null for a passkey. */
  readonly loginId: string | null
  /** Null for a login. */
  readonly passkeyId: string | null
  readonly invitationId: string
  readonly deviceId: string
  readonly deviceName: string
  /** Whether it is a browser, whose tokens are in cookies. */
  readonly isBrowser: boolean
  /** The OAuth client; null when it named none. */
  readonly clientId: string | null
}

/** The session of a device that has just signed in. */
export type NewDeviceSession = SignedInDevice & {
  readonly id: string
  readonly salt: Uint8Array<ArrayBuffer>
  readonly createdAt: Date
  readonly lastIp: string
  readonly idleExpiresAt: Date
  readonly absoluteExpiresAt: Date
}

/**
 * Saves the session of a login or passkey with its audit row and its browser session, and returns it; or returns the
 * session that the login has already. Null when the invitation was withdrawn, the login is not approved any more or the
 * passkey was removed, and when a concurrent call has just saved the session. The user code of the login becomes free
 * for other logins.
 */
export async function saveSession(
  database: Statements,
  session: NewDeviceSession,
  approvedVia: ApprovedVia,
  browser: SignedInBrowser | null,
): Promise<SessionRow | null> {
  const { id, loginId, passkeyId, deviceId, createdAt, lastIp: ip } = session
  const event = {
    kind: 'device_session.opened',
    at: createdAt,
    ip,
    details: { deviceId, via: approvedVia, loginId },
    subjects: sql`SELECT id, account_id, team_id FROM opened`,
  }
  const ofDevice = browser && { ...browser, session: { ...browser.session, deviceSessionId: id } }
  // The locks wait for a withdrawal and for signing out everywhere. Then the invitation or the passkey is not found or
  // the login is not approved any more, so that no session outlives them. They come before the login's, as everywhere.
  // FOR UPDATE would also wait for an approval, because its new browser session references the invitation; the approval
  // may wait for this login's row, which would be a deadlock. The passkey is locked too, because this statement would
  // otherwise still see one that was removed while it waited.
  const [row] = await database.query<SessionRow>(sql`
    WITH invited AS (
      SELECT invitation.id, account_id, team_id
      FROM invitations invitation JOIN accounts account ON account.id = account_id
      WHERE invitation.id = ${session.invitationId}::uuid AND revoked_at IS NULL FOR NO KEY UPDATE
    ), redeemed AS (
      UPDATE device_logins login SET user_code = NULL FROM invited
      WHERE login.id = ${loginId}::uuid AND login.status = 'approved' RETURNING login.id
    ), verified AS (
      SELECT passkey.id FROM passkeys passkey CROSS JOIN invited
      WHERE passkey.id = ${passkeyId}::uuid FOR KEY SHARE OF passkey
    ), made AS (
      ${insertSession(session)}
      FROM invited WHERE EXISTS (SELECT FROM redeemed UNION ALL SELECT FROM verified)
      ON CONFLICT (login_id) DO NOTHING RETURNING *
    ), opened AS (
      SELECT made.id, account_id, team_id FROM made CROSS JOIN invited
    ), event AS (
      ${insertEvents(event)}
    )${beginSession(ofDevice, sql`opened`)}, found AS (
      SELECT * FROM made
      UNION ALL
      SELECT existing.* FROM device_sessions existing JOIN redeemed ON redeemed.id = existing.login_id
    )
    SELECT ${SESSION_COLUMNS} FROM ${withPeople(sql`found`)}`)
  return row ?? null
}

/** The beginning of a statement that inserts a session; a source and a condition follow. */
function insertSession(session: NewDeviceSession): Sql {
  return sql`
    INSERT INTO device_sessions (
      id, login_id, invitation_id, device_id, device_name, is_browser, client_id, salt, created_at, last_seen_at,
      last_ip, idle_expires_at, absolute_expires_at
    )
    SELECT ${session.id}::uuid, ${session.loginId}::uuid, ${session.invitationId}::uuid, ${session.deviceId},
      ${session.deviceName}, ${session.isBrowser}, ${session.clientId}, ${session.salt},
      ${session.createdAt}::timestamptz, ${session.createdAt}::timestamptz, ${session.lastIp},
      ${session.idleExpiresAt}::timestamptz, ${session.absoluteExpiresAt}::timestamptz`
}
