import type { Prisma } from '../../../generated/prisma/client.ts'
import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import { insertEvents } from '../audit/insert-events.ts'
import { beginSession } from '../browser-session/store.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import { SESSION_COLUMNS, withPeople } from './rows.ts'
import type { SessionRow } from './rows.ts'
import type { ApprovedVia } from './rules.ts'
import type { SignedInDevice } from './signed-in-device.ts'

/** The session of a device that has just signed in. */
export type NewDeviceSession = SignedInDevice & {
  readonly id: string
  readonly salt: Uint8Array<ArrayBuffer>
  readonly createdAt: Date
  readonly lastSeenAt: Date
  readonly lastIp: string
  readonly idleExpiresAt: Date
  readonly absoluteExpiresAt: Date
}

/** A session as it is saved, with the account's other sessions. */
export type SavedRow = SessionRow & {
  readonly others: readonly { readonly id: string; readonly deviceId: string; readonly lastSeenAt: string }[]
}

/**
 * Saves the session of a login or passkey with its audit row and its browser session, and returns it; or returns the
 * session that the login has already. Null when the login is not approved any more. The user code of the login becomes
 * free for other logins.
 */
export async function saveSession(
  tx: Prisma.TransactionClient,
  session: NewDeviceSession,
  approvedVia: ApprovedVia,
  browser: SignedInBrowser | null,
): Promise<SavedRow | null> {
  const { id, loginId, deviceId, createdAt, lastIp: ip } = session
  const event = {
    kind: 'device_session.opened',
    at: createdAt,
    ip,
    details: { deviceId, via: approvedVia, loginId },
    subjects: sql`SELECT id, account_id, team_id FROM opened`,
  }
  const ofDevice = browser && { ...browser, session: { ...browser.session, deviceSessionId: id } }
  const [row] = await tx.$queryRaw<SavedRow[]>`
    WITH redeemed AS (
      UPDATE device_logins SET user_code = NULL WHERE id = ${loginId}::uuid AND status = 'approved' RETURNING id
    ), made AS (
      ${insertSession(session)}
      WHERE ${loginId}::uuid IS NULL OR EXISTS (SELECT FROM redeemed)
      ON CONFLICT (login_id) DO NOTHING RETURNING *
    ), opened AS (
      SELECT made.id, account_id, team_id FROM made JOIN invitations invitation ON invitation.id = made.invitation_id
    ), event AS (
      ${insertEvents(event)}
    )${beginSession(ofDevice, { of: sql`opened`, now: createdAt, ip })}, found AS (
      SELECT * FROM made
      UNION ALL
      SELECT existing.* FROM device_sessions existing JOIN redeemed ON redeemed.id = existing.login_id
    )
    SELECT ${SESSION_COLUMNS}, ${OTHERS} AS others FROM ${withPeople(sql`found`)}`
  return row ?? null
}

/** The beginning of a statement that inserts a session; a condition may follow. */
function insertSession(session: NewDeviceSession): Sql {
  return sql`
    INSERT INTO device_sessions (
      id, login_id, invitation_id, device_id, device_name, is_browser, client_id, salt, created_at, last_seen_at,
      last_ip, idle_expires_at, absolute_expires_at
    )
    SELECT ${session.id}::uuid, ${session.loginId}::uuid, ${session.invitationId}::uuid, ${session.deviceId},
      ${session.deviceName}, ${session.isBrowser}, ${session.clientId}, ${session.salt},
      ${session.createdAt}::timestamptz, ${session.lastSeenAt}::timestamptz, ${session.lastIp},
      ${session.idleExpiresAt}::timestamptz, ${session.absoluteExpiresAt}::timestamptz`
}

/**
 * The account's other live sessions, of the same device or not idle for too long. `OFFSET 0` keeps the plan from
 * reading the live sessions of all accounts.
 */
const OTHERS = sql`(
  SELECT coalesce(json_agg(json_build_object(
    'id', other.id, 'deviceId', other.device_id, 'lastSeenAt', other.last_seen_at)), '[]')
  FROM invitations membership,
    LATERAL (SELECT * FROM device_sessions WHERE invitation_id = membership.id OFFSET 0) other
  WHERE membership.account_id = account.id AND other.id <> session.id AND other.revoked_at IS NULL
    AND (other.device_id = session.device_id OR other.idle_expires_at > session.created_at))`
