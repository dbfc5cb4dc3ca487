import { withRetry } from '../../database/errors.ts'
import { NO_SQL, sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import type { Statements } from '../../database/statements.ts'
import { insertEvents } from '../audit/insert-events.ts'
import { beginSession } from '../browser-session/store.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import type { ApprovedVia } from '../tokens/rules.ts'
import { sessionTableOf } from './rows.ts'
import type { FoundLogin, SessionRef } from './rows.ts'

/** Who decides a login, and how. */
export type Decision = {
  readonly via: Exclude<ApprovedVia, 'passkey'>
  /** The session that decides; null when the email's link alone does. */
  readonly by: SessionRef | null
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
  const { via, by, ip } = decision
  const details = { via, deviceId: login.deviceId, ...(by && { sessionId: by.sessionId }) }
  const subjects = sql`SELECT id, account_id, team_id FROM decided`
  const ofInvitation = login.anonymous ? sql`login.invitation_id IS NULL` : sql`login.invitation_id = invited.id`
  const count = await withRetry(() =>
    database.execute(sql`
      WITH invited AS (
        ${lockInvitation(login.invitationId, by)}
      ), decided AS (
        UPDATE device_logins login SET invitation_id = invited.id, ${set} FROM invited
        WHERE login.id = ${login.id}::uuid AND ${ofInvitation} AND ${where}
        RETURNING login.id, invited.account_id, invited.team_id
      )${beginSession(browser, sql`decided`)}${openedEvent(browser, login, now, ip)}
      ${insertEvents({ kind, at: now, ip, details, subjects })}`),
  )
  return count === 1
}

/** A further step of the statement: the audit row of the browser session, which lives on without the device. */
function openedEvent(browser: SignedInBrowser | null, { id: loginId }: FoundLogin, at: Date, ip: string): Sql {
  if (!browser) return NO_SQL
  const subjects = sql`SELECT ${browser.session.id}::uuid, account_id, team_id FROM decided`
  const event = { kind: 'browser_session.opened', at, ip, details: { via: 'device_login', loginId }, subjects }
  return sql`, browser_event AS (
        ${insertEvents(event)}
      )`
}

/**
 * Finds and locks the invitation of a login, unless it was withdrawn or the session that decides has ended. The locks
 * wait for a withdrawal and for signing out everywhere, which cannot cancel a login that names no account, so that no
 * approval outlives them. They come before the lock of the login, as everywhere, so that there are no deadlocks.
 */
function lockInvitation(id: string, by: Decision['by']): Sql {
  if (!by)
    return sql`
      SELECT id, account_id, team_id FROM invitations WHERE id = ${id}::uuid AND revoked_at IS NULL FOR SHARE`
  return sql`
    SELECT invitation.id, account_id, team_id
    FROM invitations invitation JOIN accounts account ON account.id = account_id
    JOIN ${sessionTableOf(by)} session
      ON session.id = ${by.sessionId}::uuid AND session.revoked_at IS NULL
    WHERE invitation.id = ${id}::uuid AND invitation.revoked_at IS NULL FOR SHARE`
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
export function approvalOf(now: Date, { via, by }: Decision): Sql {
  return sql`
    status = 'approved',
    approved_at = coalesce(login.approved_at, ${now}::timestamptz),
    approved_via = CASE WHEN login.approved_at IS NULL THEN ${via}::"ApprovedVia" ELSE login.approved_via END,
    approver_session_id = CASE
      WHEN login.approved_at IS NULL THEN ${by?.sessionId ?? null}::uuid ELSE login.approver_session_id END`
}
