import type { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import { ensureAccounts, invitationEvent, withdrawInvitations } from '../../directory/invitations.ts'
import type { Inviter } from '../../directory/invitations.ts'
import type { Role } from '../../kernel/caller.ts'
import { withRetry } from '../../database/errors.ts'

/** An invitation in force. */
export type ListedInvitation = {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly source: 'directory' | 'admin'
  readonly createdAt: Date
}

type Row = Prisma.InvitationGetPayload<{ include: { account: true } }>

/** The invitations of a team. */
export function makeInvitationStore(db: PrismaClient) {
  return {
    /** The invitations in force, the oldest first. */
    async list(teamId: string): Promise<ListedInvitation[]> {
      const rows = await db.invitation.findMany({
        where: { teamId, revokedAt: null },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        include: { account: true },
      })
      return rows.map(toListed)
    },

    /** Invites an address, also one whose invitation was withdrawn; null when it is invited already. */
    async invite(
      wanted: { teamId: string; email: string; role: Role },
      inviter: Inviter,
      now: Date,
    ): Promise<ListedInvitation | null> {
      const { teamId, email, role } = wanted
      return withRetry(() =>
        db.$transaction(async (tx) => {
          const accountId = (await ensureAccounts(tx, [email], now)).get(email) ?? ''
          const fresh = { accountId, teamId, role, source: 'admin', createdAt: now } as const
          const { count: made } = await tx.invitation.createMany({ data: [fresh], skipDuplicates: true })
          const { count: restored } = await tx.invitation.updateMany({
            where: { accountId, teamId, revokedAt: { not: null } },
            data: { role, source: 'admin', revokedAt: null, createdAt: now },
          })
          if (made + restored === 0) return null
          const row = await tx.invitation.findUniqueOrThrow({
            where: { accountId_teamId: { accountId, teamId } },
            include: { account: true },
          })
          const kind = made ? 'invitation.created' : 'invitation.restored'
          await tx.auditEvent.create({ data: invitationEvent(kind, row, inviter, now) })
          return toListed(row)
        }),
      )
    },

    /**
     * Withdraws an invitation of a team, with its sessions, API keys and logins. Returns the ids of the device sessions
     * and keys that ended. `listed`: the directory file lists the member, so only the file can withdraw the invitation.
     */
    async withdraw(
      id: string,
      teamId: string,
      inviter: Inviter,
      now: Date,
    ): Promise<readonly string[] | 'not_found' | 'listed'> {
      return withRetry(() =>
        db.$transaction(async (tx) => {
          await tx.$queryRaw`SELECT id FROM invitations WHERE id = ${id}::uuid FOR UPDATE`
          const row = await tx.invitation.findFirst({ where: { id, teamId, revokedAt: null } })
          if (!row) return 'not_found'
          if (row.source === 'directory') return 'listed'
          return withdrawInvitations(tx, [row], inviter, now)
        }),
      )
    },
  }
}

function toListed({ id, account, role, source, createdAt }: Row): ListedInvitation {
  return { id, email: account.email, role, source, createdAt }
}
