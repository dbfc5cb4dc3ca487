import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import type { Statements } from '../../database/statements.ts'
import type { Caller } from '../../kernel/caller.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import type { ApprovedVia } from '../tokens/rules.ts'
import type { DeviceLogin } from './rules.ts'

/** A login with the account and team that it is for. */
export type FoundLogin = DeviceLogin & {
  readonly id: string
  readonly invitationId: string
  readonly accountId: string
  readonly email: string
  readonly organization: string
  readonly team: string
  readonly deviceId: string
  readonly deviceName: string
  /** The OAuth client that started the login; null when it named none. */
  readonly clientId: string | null
  readonly userCode: string | null
  readonly startIp: string
  readonly createdAt: Date
  readonly approvedVia: Exclude<ApprovedVia, 'passkey'> | null
  /** The device named no account. The login is shown as the caller's, and becomes the caller's by approving it. */
  readonly anonymous: boolean
}

/** A login whose device named no account, and that is not approved. */
export type AnonymousLogin = DeviceLogin & Pick<FoundLogin, 'id' | 'clientId'> & { readonly invitationId: null }

type OwnColumns = Pick<DeviceLogin, 'status' | 'expiresAt' | 'approvedAt' | 'lastPolledAt'> &
  Omit<FoundLogin, keyof DeviceLogin | keyof PeopleColumns | 'team'> & {
    readonly mailTokenHash: string
    readonly mailUsedAt: Date | null
    readonly handleUsedAt: Date | null
    /** Of the device session that the first poll made. */
    readonly generation: number | null
    readonly sessionRevokedAt: Date | null
    readonly withdrawnAt: Date | null
  }

type PeopleColumns = Pick<FoundLogin, 'invitationId' | 'accountId' | 'email' | 'organization'> & {
  readonly teamName: string
}

/** A row of a login, with the account and team of its invitation where it names one. */
export type LoginRow = OwnColumns & (PeopleColumns | { readonly [Column in keyof PeopleColumns]: null })

/** A session of a device or a browser. */
export type SessionRef = Pick<Caller, 'sessionId' | 'sessionKind'>

/** The table of a session. No operation of the control plane accepts an API key. */
export function sessionTableOf({ sessionKind }: SessionRef): Sql {
  return sessionKind === 'device' ? sql`device_sessions` : sql`browser_sessions`
}

/**
 * Finds a login by a condition on its row, which is `login` in the statement. A login whose device named no account is
 * read with the invitation of the caller's session; null: with none.
 */
export async function findLoginRow(
  database: Statements,
  where: Sql,
  caller: SessionRef | null = null,
): Promise<LoginRow | null> {
  const callersInvitation = caller
    ? sql`(SELECT invitation_id FROM ${sessionTableOf(caller)} WHERE id = ${caller.sessionId}::uuid)`
    : sql`NULL`
  const [row] = await database.query<LoginRow>(sql`
    SELECT login.id, login.device_id AS "deviceId", login.device_name AS "deviceName", login.client_id AS "clientId",
      login.user_code AS "userCode", login.mail_token_hash AS "mailTokenHash", login.status,
      login.created_at AS "createdAt", login.expires_at AS "expiresAt", login.mail_used_at AS "mailUsedAt",
      login.handle_used_at AS "handleUsedAt", login.approved_at AS "approvedAt", login.approved_via AS "approvedVia",
      login.last_polled_at AS "lastPolledAt", login.start_ip AS "startIp", login.invitation_id IS NULL AS anonymous,
      invitation.id AS "invitationId", invitation.revoked_at AS "withdrawnAt", account.id AS "accountId", account.email,
      organization.name AS organization, team.name AS "teamName",
      session.generation, session.revoked_at AS "sessionRevokedAt"
    FROM device_logins login
    LEFT JOIN invitations invitation ON invitation.id = coalesce(login.invitation_id, ${callersInvitation})
    LEFT JOIN accounts account ON account.id = invitation.account_id
    LEFT JOIN teams team ON team.id = invitation.team_id
    LEFT JOIN organizations organization ON organization.id = team.organization_id
    LEFT JOIN device_sessions session ON session.login_id = login.id
    WHERE ${where}`)
  return row ?? null
}

/** The login of a row. */
export function toLogin(row: LoginRow): FoundLogin | AnonymousLogin {
  return row.invitationId === null
    ? { ...toState(row), id: row.id, clientId: row.clientId, invitationId: null }
    : toFoundLogin(row)
}

/** The login of a row that has an invitation. */
export function toFoundLogin(row: LoginRow): FoundLogin {
  if (row.invitationId === null) throw new Error('This login has no account.')
  const { organization, teamName: name } = row
  return { ...row, ...toState(row), team: formatTeamName({ organization, name }) }
}

/** The part of a row that the rules read. */
function toState({ status, expiresAt, approvedAt, lastPolledAt, ...row }: LoginRow): DeviceLogin {
  const { generation, sessionRevokedAt, withdrawnAt } = row
  const session = generation === null ? null : { generation, revoked: sessionRevokedAt !== null }
  return { status, expiresAt, approvedAt, lastPolledAt, invited: withdrawnAt === null, session }
}
