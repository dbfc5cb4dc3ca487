import type { Prisma } from '../../generated/prisma/client.ts'
import type { Database } from '../database/client.ts'
import type { Caller } from '../kernel/caller.ts'
import type { SecretHash } from '../kernel/secret.ts'
import { teamNameOf } from '../kernel/team-name.ts'
import type { TeamWithOrganization } from '../kernel/team-name.ts'
import type { Use } from './last-seen.ts'

/** An API key that exists. */
export type FoundKey = {
  readonly id: string
  readonly expiresAt: Date
  /** Null when the key was revoked, or the invitation of its owner withdrawn. */
  readonly caller: Caller | null
}

const WITH_OWNER = {
  invitation: { include: { team: { include: { organization: true } } } },
  serviceAccount: { include: { team: { include: { organization: true } } } },
} as const satisfies Prisma.ApiKeyInclude

type Row = Prisma.ApiKeyGetPayload<{ include: typeof WITH_OWNER }>

/** The API keys, as a gateway reads them, and their last uses. */
export function makeApiKeyAccessStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** Finds a key by its hash or its id; null when there is none. */
    async findKey(where: { readonly hash: SecretHash } | { readonly id: string }): Promise<FoundKey | null> {
      const row = await db.apiKey.findUnique({ where, include: WITH_OWNER })
      return row && { id: row.id, expiresAt: row.expiresAt, caller: row.revokedAt ? null : toCaller(row) }
    },

    /** Which of these ids are keys that work. */
    async findAliveKeys(ids: readonly string[], now: Date): Promise<Set<string>> {
      const rows = await db.apiKey.findMany({
        where: {
          id: { in: [...ids] },
          revokedAt: null,
          expiresAt: { gt: now },
          OR: [{ invitationId: null }, { invitation: { revokedAt: null } }],
        },
        select: { id: true },
      })
      return new Set(rows.map(({ id }) => id))
    },

    /** Saves when keys were last used; a later time stays. A key that is being written is skipped. */
    async saveKeyUses(uses: readonly Use[]): Promise<void> {
      const [ids, times] = [uses.map(({ id }) => id), uses.map(({ at }) => at)]
      await db.$executeRaw`
        WITH uses AS (
          SELECT * FROM unnest(${ids}::uuid[], ${times}::timestamptz[]) AS used(id, at)
        ), free AS (
          SELECT k.id FROM api_keys k JOIN uses USING (id)
          WHERE k.last_used_at IS NULL OR k.last_used_at < uses.at FOR NO KEY UPDATE OF k SKIP LOCKED
        )
        UPDATE api_keys k SET last_used_at = uses.at FROM uses JOIN free USING (id) WHERE k.id = uses.id`
    },
  }
}

function toCaller({ id, models, invitation, serviceAccount }: Row): Caller | null {
  const key = { id, models: models.length > 0 ? models : null }
  const session = { sessionId: id, sessionKind: 'api_key', authenticatedAt: null } as const
  if (serviceAccount) {
    const owner = { accountId: serviceAccount.id, role: 'member' } as const
    const name = `service:${serviceAccount.name}`
    return { ...owner, ...session, ...teamOf(serviceAccount), key: { ...key, serviceAccount: name } }
  }
  if (!invitation || invitation.revokedAt) return null
  const { accountId, role } = invitation
  return { accountId, role, ...session, ...teamOf(invitation), key: { ...key, serviceAccount: null } }
}

function teamOf({ team }: { readonly team: TeamWithOrganization }) {
  return { organization: team.organization.name, team: teamNameOf(team) }
}
