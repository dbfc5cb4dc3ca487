import type { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import { ensureAccounts, invitationEvent } from '../../directory/invitations.ts'
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

export type InvitationStore = ReturnType<typeof makeInvitationStore>

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
    async invite(wanted: WantedInvitation, inviter: Inviter, now: Date): Promise<ListedInvitation | null> {
      return withRetry(() => db.$transaction((tx) => saveInvitation(tx, wanted, inviter, now)))
    },
  }
}

type WantedInvitation = { readonly teamId: string; readonly email: string; readonly role: Role }

/** Invites an address with the audit row, also one whose invitation was withdrawn; null when it is invited already. */
export async function saveInvitation(
  tx: Prisma.TransactionClient,
  { teamId, email, role }: WantedInvitation,
  inviter: Inviter,
  now: Date,
): Promise<ListedInvitation | null> {
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
}

function toListed({ id, account, role, source, createdAt }: Row): ListedInvitation {
  return { id, email: account.email, role, source, createdAt }
}
