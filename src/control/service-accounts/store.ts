import type { Prisma } from '../../../generated/prisma/client.ts'
import type { Database } from '../../database/client.ts'
import { inTransaction } from '../../database/transaction.ts'
import { teamNameOf } from '../../kernel/team-name.ts'
import { isWorking } from '../api-keys/rules.ts'
import { saveTeamEvent } from '../audit/save-team-event.ts'
import { lockTeam } from '../team-access.ts'
import type { TeamActor } from '../team-access.ts'

/** A service account of a team. */
export type ListedServiceAccount = {
  readonly id: string
  readonly name: string
  readonly team: string
  readonly createdAt: Date
  /** The email address of the admin who created it. */
  readonly createdBy: string
  readonly activeKeys: number
  readonly lastUsedAt: Date | null
}

/** How many service accounts a team can have. Lists and pages show all of them. */
export const MAX_SERVICE_ACCOUNTS = 200

/** Why a service account was not created: the team has one of this name, or as many as it can have. */
export type ServiceAccountRefusal = 'exists' | 'too_many'

const WITH_KEYS = {
  team: { include: { organization: true } },
  createdBy: { select: { email: true } },
  apiKeys: { select: { expiresAt: true, revokedAt: true, lastUsedAt: true } },
} as const satisfies Prisma.ServiceAccountInclude

type Row = Prisma.ServiceAccountGetPayload<{ include: typeof WITH_KEYS }>

export type ServiceAccountStore = ReturnType<typeof makeServiceAccountStore>

/** The rows of service accounts. Each change is saved together with its audit row. */
export function makeServiceAccountStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** The service accounts of a team, by name. */
    async list(teamId: string, now: Date): Promise<ListedServiceAccount[]> {
      const rows = await db.serviceAccount.findMany({ where: { teamId }, orderBy: { name: 'asc' }, include: WITH_KEYS })
      return rows.map((row) => toListed(row, now))
    },

    /** Whether a team has this service account. */
    async exists(id: string, teamId: string): Promise<boolean> {
      return (await db.serviceAccount.count({ where: { id, teamId } })) === 1
    },

    async create(admin: TeamActor, name: string, now: Date): Promise<ListedServiceAccount | ServiceAccountRefusal> {
      const { teamId, accountId } = admin
      return inTransaction(db, async (tx) => {
        await lockTeam(tx, admin)
        if ((await tx.serviceAccount.count({ where: { teamId } })) >= MAX_SERVICE_ACCOUNTS) return 'too_many'
        const [made] = await tx.serviceAccount.createManyAndReturn({
          data: [{ teamId, name, createdAt: now, createdById: accountId }],
          skipDuplicates: true,
          select: { id: true },
        })
        if (!made) return 'exists'
        const row = await tx.serviceAccount.findUniqueOrThrow({ where: made, include: WITH_KEYS })
        const event = { kind: 'service_account.created', subjectId: row.id, details: { name } }
        await saveTeamEvent(tx, admin, event, now)
        return toListed(row, now)
      })
    },

    /** Deletes a service account with its keys. Resolves with the ids of the keys; null when the team has none such. */
    async remove(admin: TeamActor, id: string, now: Date): Promise<string[] | null> {
      return inTransaction(db, async (tx) => {
        await lockTeam(tx, admin)
        const row = await tx.serviceAccount.findFirst({
          where: { id, teamId: admin.teamId },
          include: { apiKeys: { select: { id: true } } },
        })
        if (!row) return null
        await tx.serviceAccount.delete({ where: { id } })
        const keys = row.apiKeys.map((key) => key.id)
        const event = { kind: 'service_account.deleted', subjectId: row.id, details: { name: row.name, keys } }
        await saveTeamEvent(tx, admin, event, now)
        return keys
      })
    },
  }
}

function toListed({ id, name, team, createdAt, createdBy, apiKeys }: Row, now: Date): ListedServiceAccount {
  const used = apiKeys.flatMap(({ lastUsedAt }) => lastUsedAt?.getTime() ?? [])
  return {
    id,
    name,
    team: teamNameOf(team),
    createdAt,
    createdBy: createdBy.email,
    activeKeys: apiKeys.filter((key) => isWorking(key, now)).length,
    lastUsedAt: used.length > 0 ? new Date(Math.max(...used)) : null,
  }
}
