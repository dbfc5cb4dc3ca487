import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import type { Role } from '../../kernel/caller.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
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

/** A session as it is read, with its account and team. */
export type SessionRow = Omit<DeviceSession, 'team' | 'revoked'> & {
  readonly teamName: string
  readonly revokedAt: Date | null
  readonly withdrawnAt: Date | null
  readonly noticeTakenAt: Date | null
}

/** The columns of a `SessionRow`, of the tables of `withPeople`. */
export const SESSION_COLUMNS = sql`
  session.id, session.salt, session.device_id AS "deviceId", session.device_name AS "deviceName",
  session.client_id AS "clientId", session.generation, session.rotated_at AS "rotatedAt",
  session.client_fingerprint AS "clientFingerprint", session.idle_expires_at AS "idleExpiresAt",
  session.absolute_expires_at AS "absoluteExpiresAt", session.revoked_at AS "revokedAt",
  session.notice_taken_at AS "noticeTakenAt", invitation.role, invitation.revoked_at AS "withdrawnAt",
  account.id AS "accountId", account.email, organization.name AS organization, team.name AS "teamName"`

/** The rows of a table of sessions, with their accounts and teams. */
export const withPeople = (sessions: Sql): Sql => sql`
  ${sessions} session
  JOIN invitations invitation ON invitation.id = session.invitation_id
  JOIN accounts account ON account.id = invitation.account_id
  JOIN teams team ON team.id = invitation.team_id
  JOIN organizations organization ON organization.id = team.organization_id`

/** The session of a row. One whose invitation was withdrawn counts as revoked. */
export function toSession({ teamName, revokedAt, withdrawnAt, ...session }: SessionRow): DeviceSession {
  return {
    ...session,
    team: formatTeamName({ organization: session.organization, name: teamName }),
    revoked: revokedAt !== null || withdrawnAt !== null,
  }
}
