import type { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import { withRetry } from '../../database/errors.ts'
import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import type { Role } from '../../kernel/caller.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import { toRevokedEvents } from '../audit/ended-sessions.ts'
import { beginSession } from '../browser-session/store.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import { pickReplaced } from './rules.ts'
import type { DeviceSessionState } from './rules.ts'

/** A signed-in device, with its account and team. */
export type DeviceSession = DeviceSessionState & {
  readonly id: string
  readonly salt: Uint8Array
  readonly accountId: string
  readonly email: string
  readonly organization: string
  readonly team: string
  readonly role: Role
  readonly deviceId: string
  readonly deviceName: string
  /** The OAuth client that signed in; null when it named none. */
  readonly clientId: string | null
}

export type NewDeviceSession = {
  readonly id: string
  readonly loginId: string | null
  readonly invitationId: string
  readonly deviceId: string
  readonly deviceName: string
  /** Whether it is a browser, whose tokens are in cookies. */
  readonly isBrowser: boolean
  readonly clientId: string | null
  readonly salt: Uint8Array<ArrayBuffer>
  readonly createdAt: Date
  readonly lastSeenAt: Date
  readonly lastIp: string
  readonly idleExpiresAt: Date
  readonly absoluteExpiresAt: Date
}

/** What a refresh changes, besides the generation. */
type Rotation = {
  readonly rotatedAt: Date
  readonly ip: string
  readonly idleExpiresAt: Date
  readonly fingerprint: string
}

/**
 * How long after a session was read a refresh may still move it on: longer than all waits for the database together,
 * and shorter than the time in which a client may repeat a refresh.
 */
const MAX_ROTATION_SECONDS = 5

export type RevokeReason =
  'logout' | 'replaced' | 'surplus' | 'refresh_reuse' | 'signed_out' | 'signed_out_everywhere' | 'signed_out_by_admin'

/** A session as it is read, with its account and team. */
type Row = Omit<DeviceSession, 'team' | 'revoked'> & {
  readonly teamName: string
  readonly revokedAt: Date | null
  readonly withdrawnAt: Date | null
  readonly noticeTakenAt: Date | null
}

/** A session as it is saved, with the account's other sessions. */
type SavedRow = Row & {
  readonly others: readonly { readonly id: string; readonly deviceId: string; readonly lastSeenAt: string }[]
}

/** A session that was read, and when: by the clock of the database, which no other clock is compared with. */
export type ReadDeviceSession = DeviceSession & { readonly readAt: Date }

export type DeviceSessionStore = ReturnType<typeof makeDeviceSessionStore>

/** The rows of device sessions. A transaction that conflicts with another one is repeated. */
export function makeDeviceSessionStore(db: PrismaClient) {
  const inTransaction = <T>(run: (tx: Prisma.TransactionClient) => Promise<T>) => withRetry(() => db.$transaction(run))

  return {
    /**
     * Opens the session of a device. A login has one session: the first poll makes it, every later poll finds it.
     * Making it ends the account's other sessions of the same device and those beyond `MAX_DEVICES`; `replaced` has
     * their ids. `tookNotice`: the process that made the session has not taken the notice, and this call has.
     * `not_invited` and `expired` say that the invitation was withdrawn or the login cancelled in the meantime.
     */
    async open(
      session: NewDeviceSession,
      approvedVia: string,
      browser: SignedInBrowser | null,
    ): Promise<
      { session: DeviceSession; isNew: boolean; tookNotice: boolean; replaced: string[] } | 'not_invited' | 'expired'
    > {
      return inTransaction(async (tx) => {
        // This lock serialises concurrent polls of one account, and a withdrawal. FOR UPDATE would also wait for an
        // approval, because its new browser session references the invitation; the approval may wait for this login's
        // row, which would be a deadlock. It is a statement of its own, so that the next one sees what it waited for.
        const invited = await tx.$queryRaw<{ id: string }[]>`
          SELECT i.id FROM invitations i JOIN accounts a ON a.id = i.account_id
          WHERE i.id = ${session.invitationId}::uuid AND i.revoked_at IS NULL FOR NO KEY UPDATE`
        if (invited.length === 0) return 'not_invited'
        const row = await save(tx, session, approvedVia, browser)
        if (!row) return 'expired'
        if (row.id !== session.id) {
          // In this transaction, because concurrent polls would otherwise all queue for a connection a second time.
          const tookNotice = row.noticeTakenAt === null && (await takeNotice(tx, row.id, session.createdAt))
          return { session: toSession(row), isNew: false, tookNotice, replaced: [] }
        }
        const replaced = await endReplaced(tx, session, row)
        return { session: toSession(row), isNew: true, tookNotice: false, replaced }
      })
    },

    /**
     * True for exactly one caller, which then tells the owner of the session by email. False once the session has
     * ended.
     */
    takeNotice: (id: string, now: Date): Promise<boolean> => takeNotice(db, id, now),

    async find(id: string): Promise<ReadDeviceSession | null> {
      const [row] = await db.$queryRaw<(Row & { readAt: Date })[]>`
        SELECT ${SESSION_COLUMNS}, clock_timestamp() AS "readAt" FROM ${withPeople(sql`device_sessions`)}
        WHERE session.id = ${id}::uuid`
      return row ? { ...toSession(row), readAt: row.readAt } : null
    },

    /**
     * Moves a session on from the generation that was read; false when another refresh did, when the session has ended,
     * or when it was read too long ago. A database that hangs can do this long after the caller saw it fail. The client
     * would then repeat its refresh too late, and lose its session.
     */
    async rotate({ id, generation, readAt }: ReadDeviceSession, next: Rotation): Promise<boolean> {
      const count = await withRetry(
        () => db.$executeRaw`
          UPDATE device_sessions session SET generation = session.generation + 1,
            rotated_at = ${next.rotatedAt}::timestamptz, last_seen_at = ${next.rotatedAt}::timestamptz,
            last_ip = ${next.ip}, idle_expires_at = ${next.idleExpiresAt}::timestamptz,
            client_fingerprint = ${next.fingerprint}
          FROM invitations invitation
          WHERE session.id = ${id}::uuid AND session.generation = ${generation} AND session.revoked_at IS NULL
            AND invitation.id = session.invitation_id AND invitation.revoked_at IS NULL
            AND clock_timestamp() < ${readAt}::timestamptz + ${MAX_ROTATION_SECONDS} * interval '1 second'`,
      )
      return count === 1
    },

    /** Ends a session with its audit row; false when it had ended before. */
    async revoke(id: string, reason: RevokeReason, now: Date, ip: string): Promise<boolean> {
      const ended = await inTransaction((tx) => endSessions(tx, { id }, reason, now, ip))
      return ended.length === 1
    },
  }
}

async function takeNotice(tx: Prisma.TransactionClient, id: string, now: Date): Promise<boolean> {
  const count = await tx.$executeRaw`
    UPDATE device_sessions SET notice_taken_at = ${now}::timestamptz
    WHERE id = ${id}::uuid AND notice_taken_at IS NULL AND revoked_at IS NULL`
  return count === 1
}

/**
 * Saves the session of a login or passkey with its audit row and its browser session, and returns it; or returns the
 * session that the login has already. Null when the login is not approved any more. The user code of the login becomes
 * free for other logins.
 */
async function save(
  tx: Prisma.TransactionClient,
  session: NewDeviceSession,
  approvedVia: string,
  browser: SignedInBrowser | null,
): Promise<SavedRow | null> {
  const { id, loginId, deviceId, createdAt, lastIp: ip } = session
  const details = JSON.stringify({ deviceId, via: approvedVia, loginId })
  const ofDevice = browser && { ...browser, session: { ...browser.session, deviceSessionId: id } }
  const [row] = await tx.$queryRaw<SavedRow[]>`
    WITH redeemed AS (
      UPDATE device_logins SET user_code = NULL WHERE id = ${loginId}::uuid AND status = 'approved' RETURNING id
    ), made AS (
      INSERT INTO device_sessions (
        id, login_id, invitation_id, device_id, device_name, is_browser, client_id, salt, created_at, last_seen_at,
        last_ip, idle_expires_at, absolute_expires_at
      )
      SELECT ${id}::uuid, ${loginId}::uuid, ${session.invitationId}::uuid, ${deviceId}, ${session.deviceName},
        ${session.isBrowser}, ${session.clientId}, ${session.salt}, ${createdAt}::timestamptz,
        ${session.lastSeenAt}::timestamptz, ${ip}, ${session.idleExpiresAt}::timestamptz,
        ${session.absoluteExpiresAt}::timestamptz
      WHERE ${loginId}::uuid IS NULL OR EXISTS (SELECT FROM redeemed)
      ON CONFLICT (login_id) DO NOTHING RETURNING *
    ), opened AS (
      SELECT made.id, account_id, team_id FROM made JOIN invitations invitation ON invitation.id = made.invitation_id
    ), event AS (
      INSERT INTO audit_events (at, kind, account_id, team_id, subject_id, ip, details)
      SELECT ${createdAt}::timestamptz, 'device_session.opened', account_id, team_id, id, ${ip}, ${details}::jsonb
      FROM opened
    )${beginSession(ofDevice, { of: sql`opened`, now: createdAt, ip })}, found AS (
      SELECT * FROM made
      UNION ALL
      SELECT existing.* FROM device_sessions existing JOIN redeemed ON redeemed.id = existing.login_id
    )
    SELECT ${SESSION_COLUMNS}, ${OTHERS} AS others FROM ${withPeople(sql`found`)}`
  return row ?? null
}

/** The columns of a `Row`, of the tables of `withPeople`. */
const SESSION_COLUMNS = sql`
  session.id, session.salt, session.device_id AS "deviceId", session.device_name AS "deviceName",
  session.client_id AS "clientId", session.generation, session.rotated_at AS "rotatedAt",
  session.client_fingerprint AS "clientFingerprint", session.idle_expires_at AS "idleExpiresAt",
  session.absolute_expires_at AS "absoluteExpiresAt", session.revoked_at AS "revokedAt",
  session.notice_taken_at AS "noticeTakenAt", invitation.role, invitation.revoked_at AS "withdrawnAt",
  account.id AS "accountId", account.email, organization.name AS organization, team.name AS "teamName"`

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

/** The rows of a table of sessions, with their accounts and teams. */
const withPeople = (sessions: Sql) => sql`
  ${sessions} session
  JOIN invitations invitation ON invitation.id = session.invitation_id
  JOIN accounts account ON account.id = invitation.account_id
  JOIN teams team ON team.id = invitation.team_id
  JOIN organizations organization ON organization.id = team.organization_id`

/** Ends those of the other sessions that a new session replaces, each with its audit row. Returns their ids. */
async function endReplaced(
  tx: Prisma.TransactionClient,
  made: NewDeviceSession,
  { others }: SavedRow,
): Promise<string[]> {
  const live = others.map((other) => ({ ...other, lastSeenAt: new Date(other.lastSeenAt) }))
  const { replaced, surplus } = pickReplaced(live, made.deviceId)
  const end = (ids: readonly string[], reason: RevokeReason) =>
    ids.length === 0 ? [] : endSessions(tx, { id: { in: [...ids] } }, reason, made.createdAt, made.lastIp)
  return [...(await end(replaced, 'replaced')), ...(await end(surplus, 'surplus'))]
}

/**
 * Ends live device sessions, the browser sessions that depend on them, and writes an audit row for each. `adminId`: the
 * admin who did it for another person. Returns the ids of the device sessions.
 */
export async function endSessions(
  tx: Prisma.TransactionClient,
  where: Prisma.DeviceSessionWhereInput,
  reason: RevokeReason,
  now: Date,
  ip: string,
  adminId?: string,
): Promise<string[]> {
  const ended = { revokedAt: now, revokedReason: reason }
  const rows = await tx.deviceSession.updateManyAndReturn({
    where: { AND: [where, { revokedAt: null }] },
    data: ended,
    select: { id: true, invitation: { select: { accountId: true, teamId: true } } },
  })
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  await tx.browserSession.updateMany({ where: { deviceSessionId: { in: ids }, revokedAt: null }, data: ended })
  const events = toRevokedEvents('device_session.revoked', rows, { at: now, reason, ip, adminId })
  await tx.auditEvent.createMany({ data: events })
  return ids
}

function toSession(row: Row): DeviceSession {
  const { id, salt, accountId, email, organization, teamName, role, deviceId, deviceName, clientId } = row
  const { generation, rotatedAt, clientFingerprint, idleExpiresAt, absoluteExpiresAt, revokedAt, withdrawnAt } = row
  return {
    ...{ id, salt, accountId, email, organization, role, deviceId, deviceName, clientId },
    ...{ generation, rotatedAt, clientFingerprint, idleExpiresAt, absoluteExpiresAt },
    team: formatTeamName({ organization, name: teamName }),
    revoked: revokedAt !== null || withdrawnAt !== null,
  }
}
