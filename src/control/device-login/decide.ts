import { withRetry } from '../../database/errors.ts'
import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import type { Statements } from '../../database/statements.ts'
import { insertEvents } from '../audit/insert-events.ts'
import { beginSession } from '../browser-session/store.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import type { ApprovedVia } from '../tokens/rules.ts'
import type { FoundLogin } from './rows.ts'

/** Who decides a login, and how. `sessionId` is null when the email's link alone decides. */
export type Decision = {
  readonly via: Exclude<ApprovedVia, 'passkey'>
  readonly sessionId: string | null
  readonly ip: string
}

/** One way to decide a login, whose row is `login` in the statement. */
type Change = {
  readonly kind: 'device_login.approved' | 'device_login.denied'
  /** Which state the login must be in. */
  readonly where: Sql
  /** The columns that change. */
  readonly set: Sql
  /** The browser that the decision signs in. */
  readonly browser?: SignedInBrowser | null
}

/**
 * Decides a login and begins the browser session that comes with it, with an audit row for each change, in one
 * statement. True for exactly one of concurrent callers; the others change nothing. A login that names no account gets
 * the account that approves it first.
 */
export async function decideOnce(
  database: Statements,
  login: FoundLogin,
  now: Date,
  decision: Decision,
  { kind, where, set, browser = null }: Change,
): Promise<boolean> {
  const { via, sessionId, ip } = decision
  const details = { via, deviceId: login.deviceId, ...(sessionId && { sessionId }) }
  const subjects = sql`SELECT id, account_id, team_id FROM decided`
  const ofInvitation = login.unnamed ? sql`login.invitation_id IS NULL` : sql`login.invitation_id = invited.id`
  // The lock waits for a withdrawal of the invitation, and then nothing is decided, so that no approval or session
  // outlives it. It is taken before the login's, as everywhere, so that two statements cannot wait for each other.
  const count = await withRetry(() =>
    database.execute(sql`
      WITH invited AS (
        SELECT id, account_id, team_id FROM invitations
        WHERE id = ${login.invitationId}::uuid AND revoked_at IS NULL FOR SHARE
      ), decided AS (
        UPDATE device_logins login SET invitation_id = invited.id, ${set} FROM invited
        WHERE login.id = ${login.id}::uuid AND ${ofInvitation} AND ${where}
        RETURNING login.id, invited.account_id, invited.team_id
      )${beginSession(browser, { of: sql`decided`, now, ip })}
      ${insertEvents({ kind, at: now, ip, details, subjects })}`),
  )
  return count === 1
}

/** Denies a pending login; false when it is not pending any more. */
export function denyOnce(database: Statements, login: FoundLogin, now: Date, decision: Decision): Promise<boolean> {
  return decideOnce(database, login, now, decision, {
    kind: 'device_login.denied',
    where: sql`login.status = 'pending' AND login.expires_at > ${now}::timestamptz`,
    set: sql`status = 'denied'`,
  })
}

/** What an approval writes: when, how, and by which session. A login that was approved before keeps that approval. */
export function approvalOf(now: Date, { via, sessionId }: Decision): Sql {
  return sql`
    status = 'approved',
    approved_at = coalesce(login.approved_at, ${now}::timestamptz),
    approved_via = CASE WHEN login.approved_at IS NULL THEN ${via}::"ApprovedVia" ELSE login.approved_via END,
    approver_session_id = CASE
      WHEN login.approved_at IS NULL THEN ${sessionId}::uuid ELSE login.approver_session_id END`
}
