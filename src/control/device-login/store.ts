import { withRetry } from '../../database/errors.ts'
import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import type { Statements } from '../../database/statements.ts'
import { addMs } from '../../kernel/clock.ts'
import { newRowId } from '../../kernel/identifier.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import { insertEvents } from '../audit/insert-events.ts'
import { findLoginRow, toLogin } from './rows.ts'
import type { FoundLogin, AnonymousLogin } from './rows.ts'

export type NewDeviceLogin = {
  /** Null when the device names no account. */
  readonly invitationId: string | null
  readonly deviceId: string
  readonly deviceName: string
  readonly clientId: string | null
  readonly deviceCodeHash: SecretHash
  readonly userCode: string
  readonly mailTokenHash: SecretHash
  readonly handleTokenHash: SecretHash | null
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly startIp: string
  readonly startUserAgent: string
}

/** How many logins of one account are live. More would flood the person's mailbox; the oldest is cancelled. */
const MAX_LIVE_LOGINS = 10

export type DeviceLoginStore = ReturnType<typeof makeDeviceLoginStore>

/**
 * Logins, as their devices start and poll them. Magic links and the device page have stores of their own for deciding
 * them.
 */
export function makeDeviceLoginStore(database: Statements) {
  return {
    /**
     * Saves a login and cancels the account's oldest beyond the limit. `taken`: another live login has the same user
     * code. `not_invited`: the invitation was withdrawn. Starts at the same time do not see each other's logins, so the
     * next start may be the one that cancels them.
     */
    async create(
      login: NewDeviceLogin,
      accountId: string | null,
    ): Promise<{ readonly id: string } | 'taken' | 'not_invited'> {
      const id = newRowId(login.createdAt)
      const [row] = await withRetry(() => database.query<Started>(startLogin(id, login, accountId)))
      if (row?.isStarted) return { id }
      return row?.isInvited ? 'taken' : 'not_invited'
    },

    /** Ends a login whose email was not accepted, with its audit row. `ip`: of the device that has started it. */
    async cancel(id: string, ip: string, at: Date): Promise<void> {
      const subjects = sql`
        SELECT login.id, account_id, NULL::uuid FROM cancelled login
        JOIN invitations invitation ON invitation.id = invitation_id`
      await database.execute(sql`
        WITH cancelled AS (
          UPDATE device_logins SET status = 'cancelled', user_code = NULL
          WHERE id = ${id}::uuid AND status = 'pending' RETURNING id, invitation_id
        )
        ${insertEvents({ kind: 'device_login.cancelled', at, ip, details: { reason: 'mail_failed' }, subjects })}`)
    },

    async findByDeviceCode(hash: SecretHash): Promise<FoundLogin | AnonymousLogin | null> {
      const row = await findLoginRow(database, sql`login.device_code_hash = ${hash}`)
      return row && toLogin(row)
    },

    /**
     * Saves a poll; false when another poll was saved within `intervalMs`. A refused poll must not move the time of the
     * last one.
     */
    async savePoll(id: string, now: Date, intervalMs: number): Promise<boolean> {
      // A time in the future was saved before the clock was set back.
      const count = await database.execute(sql`
        UPDATE device_logins SET last_polled_at = ${now}::timestamptz
        WHERE id = ${id}::uuid AND (
          last_polled_at IS NULL
          OR last_polled_at <= ${addMs(now, -intervalMs)}::timestamptz
          OR last_polled_at >= ${addMs(now, intervalMs)}::timestamptz
        )`)
      return count === 1
    },
  }
}

type Started = { readonly isStarted: boolean; readonly isInvited: boolean }

/** Inserts a login and cancels the surplus, with audit rows. Does nothing when another live login has the same code. */
function startLogin(id: string, login: NewDeviceLogin, accountId: string | null): Sql {
  const { invitationId, deviceId, deviceName, clientId, createdAt, startIp } = login
  const subjects = sql`SELECT id, ${accountId}::uuid, NULL::uuid FROM started`
  const event = { kind: 'device_login.started', at: createdAt, ip: startIp, details: { deviceId }, subjects }
  const cancelled = {
    ...{ kind: 'device_login.cancelled', at: createdAt, ip: startIp, details: { reason: 'too_many' } },
    subjects: sql`SELECT id, ${accountId}::uuid, NULL::uuid FROM cancelled`,
  }
  // By the account's invitations, so that no plan reads the logins of all accounts.
  const isPending = sql`
    invitation_id = ANY (ARRAY(SELECT id FROM invitations WHERE account_id = ${accountId}::uuid))
    AND status = 'pending'`
  // The lock of the invitation waits for a withdrawal, so that no login is left when the person is invited again. The
  // lock of the account comes before those of logins, as when the account signs out everywhere. It is taken only where
  // there is something to cancel, because it has to be written to the disk.
  return sql`
    WITH invited AS (
      SELECT id FROM invitations WHERE id = ${invitationId}::uuid AND revoked_at IS NULL FOR SHARE
    ), admitted AS MATERIALIZED (
      SELECT ${invitationId}::uuid IS NULL OR EXISTS (SELECT FROM invited) AS is_invited
    ), started AS (
      INSERT INTO device_logins (
        id, invitation_id, device_id, device_name, client_id, device_code_hash, user_code, mail_token_hash,
        handle_token_hash, created_at, expires_at, start_ip, start_user_agent
      ) SELECT
        ${id}::uuid, ${invitationId}::uuid, ${deviceId}, ${deviceName}, ${clientId}, ${login.deviceCodeHash},
        ${login.userCode}, ${login.mailTokenHash}, ${login.handleTokenHash}, ${createdAt}::timestamptz,
        ${login.expiresAt}::timestamptz, ${startIp}, ${login.startUserAgent}
      FROM admitted WHERE is_invited ON CONFLICT (user_code) DO NOTHING RETURNING id
    ), surplus AS MATERIALIZED (
      SELECT id FROM device_logins WHERE ${isPending} AND expires_at > ${createdAt}::timestamptz
      ORDER BY created_at DESC, id DESC OFFSET ${MAX_LIVE_LOGINS - 1}
    ), account AS MATERIALIZED (
      SELECT id FROM accounts WHERE id = ${accountId}::uuid
        AND EXISTS (SELECT FROM surplus) AND EXISTS (SELECT FROM started) FOR NO KEY UPDATE
    ), cancelled AS (
      UPDATE device_logins SET status = 'cancelled', user_code = NULL
      WHERE ${isPending} AND id = ANY (ARRAY(SELECT id FROM surplus)) AND EXISTS (SELECT FROM account)
      RETURNING id
    ), event AS (
      ${insertEvents(event)}
    ), cancelled_event AS (
      ${insertEvents(cancelled)}
    )
    SELECT is_invited AS "isInvited", EXISTS (SELECT FROM started) AS "isStarted" FROM admitted`
}
