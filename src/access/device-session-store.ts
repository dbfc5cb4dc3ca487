import type { Database } from '../database/client.ts'
import type { Caller } from '../kernel/caller.ts'
import { teamNameOf } from '../kernel/team-name.ts'
import type { Use } from './last-seen.ts'

/** The device sessions, as checks of access tokens read them, and their last uses. */
export function makeDeviceSessionAccessStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** Finds the caller of a device session; null when it has ended or its invitation was withdrawn. */
    async findDeviceCaller(sessionId: string): Promise<Caller | null> {
      const row = await db.deviceSession.findFirst({
        where: { id: sessionId, revokedAt: null, invitation: { revokedAt: null } },
        select: {
          createdAt: true,
          login: { select: { approvedAt: true, approvedVia: true } },
          invitation: {
            select: {
              accountId: true,
              role: true,
              team: { select: { name: true, organization: { select: { name: true } } } },
            },
          },
        },
      })
      if (!row) return null
      const { accountId, role, team } = row.invitation
      return {
        accountId,
        sessionId,
        sessionKind: 'device',
        organization: team.organization.name,
        team: teamNameOf(team),
        role,
        authenticatedAt: row.login ? provenAt(row.login) : row.createdAt,
      }
    },

    /**
     * Saves when device sessions were last used; a later time stays. A session that is being written is skipped, so
     * that processes never wait for each other here.
     */
    async saveSessionUses(uses: readonly Use[]): Promise<void> {
      const [ids, times, ips] = [uses.map(({ id }) => id), uses.map(({ at }) => at), uses.map(({ ip }) => ip)]
      await db.$executeRaw`
        WITH uses AS (
          SELECT * FROM unnest(${ids}::uuid[], ${times}::timestamptz[], ${ips}::text[]) AS used(id, at, ip)
        ), free AS (
          SELECT s.id FROM device_sessions s JOIN uses USING (id)
          WHERE s.revoked_at IS NULL AND s.last_seen_at < uses.at FOR NO KEY UPDATE OF s SKIP LOCKED
        )
        UPDATE device_sessions s SET last_seen_at = uses.at, last_ip = uses.ip
        FROM uses JOIN free USING (id) WHERE s.id = uses.id`
    },

    /** Finds which of these device sessions have not ended. */
    async findAliveSessions(sessionIds: readonly string[]): Promise<Set<string>> {
      const rows = await db.deviceSession.findMany({
        where: { id: { in: [...sessionIds] }, revokedAt: null, invitation: { revokedAt: null } },
        select: { id: true },
      })
      return new Set(rows.map(({ id }) => id))
    },
  }
}

type Approval = { readonly approvedAt: Date | null; readonly approvedVia: 'mail' | 'session' | 'user_code' | null }

/**
 * When the person proved who they are for a session that a login opened. Only the email's link proves it, and only when
 * it was the link that approved the login: a stolen token can approve a login by its code, and a later click on the
 * link must not make that session fresh.
 */
function provenAt({ approvedAt, approvedVia }: Approval): Date | null {
  return approvedVia === 'mail' ? approvedAt : null
}
