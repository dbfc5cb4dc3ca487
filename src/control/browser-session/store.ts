import type { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import type { BrowserSessionTimes } from './rules.ts'

/** A row to be written: the session begins with it. */
export type NewBrowserSession = Prisma.BrowserSessionUncheckedCreateInput & { hash: SecretHash }

/** Alive, as far as the rows of others say: nobody ended it, its invitation stands, and so does the device session that it hangs on. */
const ALIVE = {
  revokedAt: null,
  invitation: { revokedAt: null },
  OR: [{ deviceSessionId: null }, { deviceSession: { revokedAt: null } }],
} satisfies Prisma.BrowserSessionWhereInput

export type BrowserSessionStore = ReturnType<typeof browserSessionStore>

export function browserSessionStore(db: PrismaClient) {
  return {
    /** Who a session belongs to, unless it was ended or its invitation withdrawn. Whether its time is over is for the rules. */
    async find(hash: SecretHash): Promise<{ caller: Caller; times: BrowserSessionTimes } | null> {
      const row = await db.browserSession.findFirst({
        where: { hash, ...ALIVE },
        include: { invitation: { include: { team: { include: { organization: true } } } } },
      })
      if (!row) return null
      const { id: invitationId, accountId, role, team } = row.invitation
      const organization = team.organization.name
      const caller = {
        accountId,
        invitationId,
        sessionId: row.id,
        sessionKind: 'browser',
        organization,
        team: formatTeamName({ organization, name: team.name }),
        role,
        authenticatedAt: row.authenticatedAt,
      } as const
      return { caller, times: row }
    },

    /** A session that is alive, and the device session of the same browser. */
    async findLinked(hash: SecretHash) {
      return db.browserSession.findFirst({
        where: { hash, ...ALIVE },
        select: {
          id: true,
          deviceSessionId: true,
          deviceSession: { select: { deviceId: true } },
          invitation: { select: { accountId: true } },
        },
      })
    },

    async touch(sessionId: string, times: { lastSeenAt: Date; idleExpiresAt: Date }): Promise<void> {
      await db.browserSession.updateMany({ where: { id: sessionId, revokedAt: null }, data: times })
    },

    /** Ends a session, once, with its audit row; what has ended stays as it ended. */
    async revoke(id: string, reason: 'logout', now: Date, ip: string): Promise<void> {
      await db.$transaction((tx) => endBrowserSessions(tx, { id }, reason, now, ip))
    },
  }
}

/** Ends browser sessions that are alive, with an audit row for each. */
export async function endBrowserSessions(
  tx: Prisma.TransactionClient,
  where: Prisma.BrowserSessionWhereInput,
  reason: string,
  now: Date,
  ip: string,
): Promise<void> {
  const rows = await tx.browserSession.updateManyAndReturn({
    where: { AND: [where, { revokedAt: null }] },
    data: { revokedAt: now, revokedReason: reason },
    select: { id: true, invitation: { select: { accountId: true, teamId: true } } },
  })
  await tx.auditEvent.createMany({
    data: rows.map(({ id, invitation }) => ({
      at: now,
      kind: 'browser_session.revoked',
      accountId: invitation.accountId,
      teamId: invitation.teamId,
      subjectId: id,
      ip,
      details: { reason },
    })),
  })
}
