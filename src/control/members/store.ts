import type { Prisma } from '../../../generated/prisma/client.ts'
import type { Database, Transaction } from '../../database/client.ts'
import { inTransaction } from '../../database/transaction.ts'
import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import { invitationEvent, withdrawInvitations } from '../../directory/invitations.ts'
import type { Actor, Role } from '../../kernel/caller.ts'
import { lockTeam } from '../team-access.ts'
import type { TeamActor } from '../team-access.ts'
import { judgeMemberChange, seenSince } from './rules.ts'
import type { MemberVerdict } from './rules.ts'

/** A person with an invitation in force. */
export type ListedMember = {
  /** The id of the account. */
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly source: 'directory' | 'admin'
  readonly invitedAt: Date
  /** The number of devices that are signed in. */
  readonly devices: number
  /** Null: no device, browser or API key of the person has used the team lately. */
  readonly lastSeenAt: Date | null
}

/** Why a change was refused. */
export type MemberRefusal = Exclude<MemberVerdict, 'allowed'> | 'not_found'

export type TeamMemberStore = ReturnType<typeof makeTeamMemberStore>

/** The members of a team. */
export function makeTeamMemberStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** The members whose addresses follow `after`, by address. */
    list: (teamId: string, after: string, limit: number, now: Date): Promise<ListedMember[]> =>
      db.$queryRaw<ListedMember[]>`${selectMembers(now)}
        WHERE i.team_id = ${teamId}::uuid AND i.revoked_at IS NULL AND a.email > ${after}
        ORDER BY a.email LIMIT ${limit}::int`,

    /** Gives a member a role, with its audit row. */
    async setRole(admin: TeamActor, accountId: string, role: Role, now: Date): Promise<ListedMember | MemberRefusal> {
      return inTransaction(db, async (tx) => {
        const found = await findForChange(tx, admin, { accountId }, role)
        if (typeof found === 'string') return found
        if (found.role !== role) await saveRole(tx, found, role, admin, now)
        const [changed] = await tx.$queryRaw<ListedMember[]>`${selectMembers(now)} WHERE i.id = ${found.id}::uuid`
        return changed ?? 'not_found'
      })
    },

    /**
     * Withdraws the invitation of a member, with its sessions, API keys and logins. Returns the ids of the device
     * sessions and keys that ended.
     */
    remove: (
      admin: TeamActor,
      member: Prisma.InvitationWhereInput,
      now: Date,
    ): Promise<readonly string[] | MemberRefusal> =>
      inTransaction(db, async (tx) => {
        const found = await findForChange(tx, admin, member, null)
        return typeof found === 'string' ? found : withdrawInvitations(tx, [found], admin, now)
      }),
  }
}

/** Gives a member another role, with the audit row. */
export async function saveRole(
  tx: Transaction,
  invitation: Pick<Prisma.InvitationGetPayload<object>, 'id' | 'accountId' | 'teamId' | 'role'>,
  role: Role,
  admin: Actor,
  now: Date,
): Promise<void> {
  await tx.invitation.update({ where: { id: invitation.id }, data: { role } })
  const event = invitationEvent('invitation.changed', { ...invitation, role }, admin, now)
  await tx.auditEvent.create({ data: { ...event, details: { ...event.details, previousRole: invitation.role } } })
}

/** A key counts as seen for as long as an ended session is kept, although it is kept for longer itself. */
function selectMembers(now: Date): Sql {
  return sql`
    SELECT a.id::text, a.email, i.role::text, i.source::text, i.created_at AS "invitedAt",
      (SELECT count(*)::int FROM device_sessions d WHERE d.invitation_id = i.id AND d.revoked_at IS NULL
        AND NOT d.is_browser AND d.idle_expires_at > ${now} AND d.absolute_expires_at > ${now}) AS devices,
      greatest((SELECT max(d.last_seen_at) FROM device_sessions d WHERE d.invitation_id = i.id),
        (SELECT max(b.last_seen_at) FROM browser_sessions b WHERE b.invitation_id = i.id),
        (SELECT max(k.last_used_at) FROM api_keys k
          WHERE k.invitation_id = i.id AND k.last_used_at > ${seenSince(now)})) AS "lastSeenAt"
    FROM invitations i JOIN accounts a ON a.id = i.account_id`
}

/** Finds an invitation that an admin may change, or why not. It is locked until the transaction ends. */
async function findForChange(
  tx: Transaction,
  admin: TeamActor,
  member: Prisma.InvitationWhereInput,
  role: Role | null,
): Promise<Prisma.InvitationGetPayload<object> | MemberRefusal> {
  await lockTeam(tx, admin)
  const { teamId } = admin
  const named = await tx.invitation.findFirst({ where: { ...member, teamId }, select: { id: true } })
  if (!named) return 'not_found'
  await tx.$queryRaw`SELECT id FROM invitations WHERE id = ${named.id}::uuid FOR UPDATE`
  const found = await tx.invitation.findFirst({ where: { ...named, revokedAt: null } })
  if (!found) return 'not_found'
  const others = { teamId, role: 'admin', revokedAt: null, id: { not: named.id } } as const
  const verdict = judgeMemberChange(found, role, await tx.invitation.count({ where: others }))
  return verdict === 'allowed' ? found : verdict
}
