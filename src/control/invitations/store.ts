import type { Prisma } from '../../../generated/prisma/client.ts'
import type { Database, Transaction } from '../../database/client.ts'
import { ensureAccounts, invitationEvent } from '../../directory/invitations.ts'
import type { Role } from '../../kernel/caller.ts'
import { inTransaction } from '../../database/transaction.ts'
import type { TimeCursor } from '../paging.ts'
import { lockTeam } from '../team-access.ts'
import type { TeamActor } from '../team-access.ts'

/** An invitation in force. */
export type ListedInvitation = {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly source: 'directory' | 'admin'
  readonly createdAt: Date
}

/** Which invitation of a team, by itself or by its person. */
export type NamedInvitation = { readonly id: string } | { readonly accountId: string }

type Row = Prisma.InvitationGetPayload<{ include: { account: true } }>

export type InvitationStore = ReturnType<typeof makeInvitationStore>

/** The invitations of a team. */
export function makeInvitationStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** The invitations in force behind a cursor, the oldest first. */
    async list(teamId: string, after: TimeCursor | null, limit: number): Promise<ListedInvitation[]> {
      const rows = await db.invitation.findMany({
        where: { teamId, revokedAt: null, ...(after && isBehind(after)) },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        take: limit,
        include: { account: true },
      })
      return rows.map(toListed)
    },

    /** An invitation in force of a team; null when the team has no such one. */
    async find(teamId: string, named: NamedInvitation): Promise<ListedInvitation | null> {
      const where = { ...named, teamId, revokedAt: null }
      const row = await db.invitation.findFirst({ where, include: { account: true } })
      return row && toListed(row)
    },

    /** Invites an address, also one whose invitation was withdrawn; null when it is invited already. */
    async invite(admin: TeamActor, wanted: WantedInvitation, now: Date): Promise<ListedInvitation | null> {
      const saved = await inTransaction(db, async (tx) => {
        await lockTeam(tx, admin)
        return saveInvitations(tx, admin, [wanted], now)
      })
      return saved[0] ?? null
    },
  }
}

function isBehind({ at, id }: TimeCursor): Prisma.InvitationWhereInput {
  return { OR: [{ createdAt: { gt: at } }, { createdAt: at, id: { gt: id } }] }
}

type WantedInvitation = { readonly email: string; readonly role: Role }

const ROLES = ['member', 'admin'] as const satisfies readonly Role[]

/**
 * Invites addresses to a team, each with its audit row, also those whose invitation was withdrawn. Returns the
 * invitations by address, without those of addresses that are invited already.
 */
export async function saveInvitations(
  tx: Transaction,
  admin: TeamActor,
  wanted: readonly WantedInvitation[],
  now: Date,
): Promise<ListedInvitation[]> {
  if (wanted.length === 0) return []
  const { teamId } = admin
  const emails = wanted.map(({ email }) => email)
  const accountIds = await ensureAccounts(tx, emails, now)
  const accountOf = ({ email }: WantedInvitation) => accountIds.get(email) ?? ''
  const fresh = { source: 'admin', createdAt: now } as const
  const made = await tx.invitation.createManyAndReturn({
    data: wanted.map((one) => ({ ...fresh, accountId: accountOf(one), teamId, role: one.role })),
    skipDuplicates: true,
    select: { id: true },
  })
  const restored: { id: string }[] = []
  for (const role of ROLES) {
    const accounts = wanted.filter((one) => one.role === role).map(accountOf)
    const rows = await tx.invitation.updateManyAndReturn({
      where: { teamId, accountId: { in: accounts }, revokedAt: { not: null } },
      data: { ...fresh, role, revokedAt: null },
      select: { id: true },
    })
    restored.push(...rows)
  }
  const rows = await tx.invitation.findMany({
    where: { id: { in: [...made, ...restored].map(({ id }) => id) } },
    include: { account: true },
    orderBy: { account: { email: 'asc' } },
  })
  const isMade = new Set(made.map(({ id }) => id))
  const kindOf = ({ id }: Row) => (isMade.has(id) ? 'invitation.created' : 'invitation.restored')
  await tx.auditEvent.createMany({ data: rows.map((row) => invitationEvent(kindOf(row), row, admin, now)) })
  return rows.map(toListed)
}

function toListed({ id, account, role, source, createdAt }: Row): ListedInvitation {
  return { id, email: account.email, role, source, createdAt }
}
