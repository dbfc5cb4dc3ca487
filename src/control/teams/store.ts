import type { PrismaClient } from '../../../generated/prisma/client.ts'

export type TeamStore = ReturnType<typeof teamStore>

export function teamStore(db: PrismaClient) {
  return {
    /** A team that the account is invited to; null otherwise, whether it exists or not. */
    async findForMember(team: { organization: string; name: string }, accountId: string) {
      return db.team.findFirst({
        where: {
          name: team.name,
          organization: { name: team.organization },
          invitations: { some: { accountId, revokedAt: null } },
        },
        select: { defaultModel: true },
      })
    },

    async findEmail(accountId: string): Promise<string> {
      const { email } = await db.account.findUniqueOrThrow({ where: { id: accountId }, select: { email: true } })
      return email
    },
  }
}
