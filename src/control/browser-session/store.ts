import type { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import type { BrowserSessionTimes } from './rules.ts'

/** A row to be written: the session begins with it. */
export type NewBrowserSession = Prisma.BrowserSessionUncheckedCreateInput & { hash: SecretHash }

export type BrowserSessionStore = ReturnType<typeof browserSessionStore>

export function browserSessionStore(db: PrismaClient) {
  return {
    /** Who a session belongs to, unless it was ended or its invitation withdrawn. Whether its time is over is for the rules. */
    async find(hash: SecretHash): Promise<{ caller: Caller; times: BrowserSessionTimes } | null> {
      const row = await db.browserSession.findFirst({
        where: { hash, revokedAt: null, invitation: { revokedAt: null } },
        include: { invitation: { include: { team: { include: { organization: true } } } } },
      })
      if (!row) return null
      const { accountId, role, team } = row.invitation
      const organization = team.organization.name
      const caller = {
        accountId,
        sessionId: row.id,
        sessionKind: 'browser',
        organization,
        team: `@${organization}/${team.name}`,
        role,
      } as const
      return { caller, times: row }
    },

    async touch(sessionId: string, times: { lastSeenAt: Date; idleExpiresAt: Date }): Promise<void> {
      await db.browserSession.updateMany({ where: { id: sessionId, revokedAt: null }, data: times })
    },

    /** Ends a session; what has ended stays as it ended. */
    async revoke(hash: SecretHash, reason: string, now: Date): Promise<void> {
      await db.browserSession.updateMany({
        where: { hash, revokedAt: null },
        data: { revokedAt: now, revokedReason: reason },
      })
    },
  }
}
