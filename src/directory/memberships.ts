import type { Database } from '../database/client.ts'
import { sql } from '../database/sql.ts'
import type { Role } from '../kernel/caller.ts'
import { formatTeamName, teamNameOf } from '../kernel/team-name.ts'
import type { TeamName } from '../kernel/team-name.ts'

/** An invitation in force: the membership that a sign-in is for. */
export type Invitation = {
  readonly id: string
  readonly accountId: string
  readonly email: string
  /** `@organization/name` */
  readonly team: string
}

/** What an account is in a team, and what a member may know of the team. */
export type Membership = {
  readonly invitationId: string
  /** The address of the account. */
  readonly email: string
  readonly teamId: string
  readonly role: Role
  readonly defaultModel: string | null
}

/** Who is a member of which team. */
export function makeMembershipStore({ prisma: db, query }: Pick<Database, 'prisma' | 'query'>) {
  return {
    /** The invitation in force of an address: of that team, or else the oldest. */
    async findInvitation(email: string, team: TeamName | null): Promise<Invitation | null> {
      const [row] = await query<Omit<Invitation, 'team'> & { organization: string; teamName: string }>(sql`
        SELECT invitation.id, account.id AS "accountId", account.email, organization.name AS organization,
          team.name AS "teamName"
        FROM accounts account
        JOIN invitations invitation ON invitation.account_id = account.id
        JOIN teams team ON team.id = invitation.team_id
        JOIN organizations organization ON organization.id = team.organization_id
        WHERE account.email = ${email} AND invitation.revoked_at IS NULL
          AND (${team === null}::boolean OR organization.name = ${team?.organization ?? null})
          AND (${team === null}::boolean OR team.name = ${team?.name ?? null})
        ORDER BY invitation.created_at, invitation.id LIMIT 1`)
      if (!row) return null
      const { organization, teamName, ...invitation } = row
      return { ...invitation, team: formatTeamName({ organization, name: teamName }) }
    },

    /** The membership of an account in a team; null when it has none, whether or not the team exists. */
    async findMembership(name: TeamName, accountId: string): Promise<Membership | null> {
      const row = await db.invitation.findFirst({
        where: { accountId, revokedAt: null, team: named(name) },
        select: {
          id: true,
          role: true,
          account: { select: { email: true } },
          team: { select: { id: true, defaultModel: true, adminDefaultModel: true } },
        },
      })
      if (!row) return null
      const { role, account, team } = row
      const defaultModel = team.defaultModel ?? team.adminDefaultModel
      return { invitationId: row.id, email: account.email, teamId: team.id, role, defaultModel }
    },

    /** The teams that these accounts are members of, as pairs of the account and `@organization/name`. */
    async findTeamsOf(accountIds: readonly string[]): Promise<(readonly [accountId: string, team: string])[]> {
      const rows = await db.invitation.findMany({
        where: { accountId: { in: [...accountIds] }, revokedAt: null },
        select: { accountId: true, team: { select: { name: true, organization: { select: { name: true } } } } },
      })
      return rows.map(({ accountId, team }) => [accountId, teamNameOf(team)])
    },

    /** The address of an account that exists. */
    async findEmail(accountId: string): Promise<string> {
      const { email } = await db.account.findUniqueOrThrow({ where: { id: accountId }, select: { email: true } })
      return email
    },
  }
}

function named({ organization, name }: TeamName) {
  return { name, organization: { name: organization } }
}

export type MembershipStore = ReturnType<typeof makeMembershipStore>
export type FindInvitation = MembershipStore['findInvitation']
export type FindMembership = MembershipStore['findMembership']
export type FindEmail = MembershipStore['findEmail']
