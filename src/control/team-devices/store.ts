import type { Database } from '../../database/client.ts'
import { inTransaction } from '../../database/transaction.ts'
import { NO_SQL, sql } from '../../database/sql.ts'
import { endBrowserSessions } from '../browser-session/store.ts'
import { chooseDeviceName, readUserAgentName } from '../devices/device-name.ts'
import type { TimeCursor } from '../paging.ts'
import { lockTeam } from '../team-access.ts'
import type { TeamActor } from '../team-access.ts'
import { endDeviceSessions } from '../tokens/end-device-sessions.ts'

/** A device or browser of a member. */
export type TeamDevice = {
  readonly kind: 'device' | 'browser'
  /** The id of its session. */
  readonly id: string
  readonly email: string
  readonly deviceName: string
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  readonly lastIp: string
}

/** What the query finds: a browser without tokens has a user agent and no name. */
type Row = Omit<TeamDevice, 'deviceName'> & { readonly deviceName: string | null; readonly userAgent: string | null }

export type TeamDeviceStore = ReturnType<typeof makeTeamDeviceStore>

/** Reads and ends the sessions of the members of a team. */
export function makeTeamDeviceStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** The signed-in devices and browsers of a team, the last seen first. */
    async list(teamId: string, before: TimeCursor | null, limit: number, now: Date): Promise<TeamDevice[]> {
      const behind = before ? sql`WHERE ("lastSeenAt", seen.id) < (${before.at}, ${before.id}::uuid)` : NO_SQL
      const rows = await db.$queryRaw<Row[]>`
        SELECT kind, seen.id::text, email, "deviceName", "userAgent", "firstSeenAt", "lastSeenAt", "lastIp" FROM (
          SELECT CASE WHEN s.is_browser THEN 'browser' ELSE 'device' END AS kind, s.id, i.account_id,
            s.device_name AS "deviceName", NULL AS "userAgent", s.created_at AS "firstSeenAt",
            s.last_seen_at AS "lastSeenAt", s.last_ip AS "lastIp"
          FROM invitations i JOIN device_sessions s ON s.invitation_id = i.id
          WHERE i.team_id = ${teamId}::uuid AND i.revoked_at IS NULL AND s.revoked_at IS NULL
            AND s.idle_expires_at > ${now}
          UNION ALL
          SELECT 'browser', b.id, i.account_id, NULL, b.user_agent, b.created_at, b.last_seen_at, b.ip
          FROM invitations i JOIN browser_sessions b ON b.invitation_id = i.id
          WHERE i.team_id = ${teamId}::uuid AND i.revoked_at IS NULL AND b.revoked_at IS NULL
            AND b.device_session_id IS NULL AND b.idle_expires_at > ${now} AND b.absolute_expires_at > ${now}
        ) AS seen JOIN accounts a ON a.id = account_id ${behind}
        ORDER BY "lastSeenAt" DESC, seen.id DESC LIMIT ${limit}::int`
      return rows.map(({ userAgent, ...row }) => ({
        ...row,
        deviceName: row.deviceName ?? chooseDeviceName([readUserAgentName(userAgent ?? '')]),
      }))
    },

    /** Ends a session of the team, with its audit row; false when the team has no live one with this id. */
    async signOut(admin: TeamActor, id: string, now: Date): Promise<boolean> {
      const session = { id, invitation: { teamId: admin.teamId } }
      const end = { at: now, reason: 'signed_out_by_admin', ip: admin.ip, adminId: admin.accountId } as const
      return inTransaction(db, async (tx) => {
        await lockTeam(tx, admin)
        const devices = await endDeviceSessions(tx, session, end)
        return devices.length > 0 || (await endBrowserSessions(tx, session, end)) > 0
      })
    },
  }
}
