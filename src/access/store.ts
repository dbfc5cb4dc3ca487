import type { Database } from '../database/client.ts'
import { inTransaction } from '../database/transaction.ts'
import type { Caller } from '../kernel/caller.ts'
import { Secret } from '../kernel/secret.ts'
import { teamNameOf } from '../kernel/team-name.ts'
import type { Use } from './last-seen.ts'

export type KeyPurpose = 'access_token' | 'refresh_token'

/** A key as it is stored. */
export type StoredKey = {
  readonly kid: string
  readonly purpose: KeyPurpose
  readonly secret: Secret
  readonly signsFrom: Date
  readonly retiresAt: Date | null
}

export type AccessStore = ReturnType<typeof makeAccessStore>

/** The rows that decide which tokens are valid: the signing keys, and the device sessions that have not ended. */
export function makeAccessStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** Every key that has not retired, the oldest first. */
    async findKeys(now: Date): Promise<StoredKey[]> {
      const rows = await db.signingKey.findMany({
        where: { OR: [{ retiresAt: null }, { retiresAt: { gt: now } }] },
        orderBy: [{ signsFrom: 'asc' }, { kid: 'asc' }],
      })
      return rows.map((row) => ({ ...row, secret: new Secret(row.secret) }))
    },

    /** Saves a key. When another process has saved one with this name first, that one stays. */
    async saveKey(key: StoredKey, now: Date): Promise<void> {
      const row = { ...key, secret: key.secret.reveal(), createdAt: now }
      await db.signingKey.createMany({ data: [row], skipDuplicates: true })
    },

    /**
     * Publishes the key that follows another one, and says until when that one is accepted; both or neither. Does
     * nothing when another process did it first.
     */
    async publishNextKey(next: StoredKey, before: { kid: string; retiresAt: Date }, now: Date): Promise<void> {
      await inTransaction(db, async (tx) => {
        const row = { ...next, secret: next.secret.reveal(), createdAt: now }
        const { count } = await tx.signingKey.createMany({ data: [row], skipDuplicates: true })
        if (count === 0) return
        await tx.signingKey.update({ where: { kid: before.kid }, data: { retiresAt: before.retiresAt } })
        const details = { before: before.kid, signsFrom: next.signsFrom.toISOString() }
        await tx.auditEvent.create({ data: { at: now, kind: 'signing_key.published', subjectId: next.kid, details } })
      })
    },

    /** Finds the caller of a device session; null when it has ended or its invitation was withdrawn. */
    async findDeviceCaller(sessionId: string): Promise<Caller | null> {
      const row = await db.deviceSession.findFirst({
        where: { id: sessionId, revokedAt: null, invitation: { revokedAt: null } },
        select: {
          createdAt: true,
          login: { select: { approvedAt: true, approvedVia: true } },
          invitation: {
            select: {
              id: true,
              accountId: true,
              role: true,
              team: { select: { name: true, organization: { select: { name: true } } } },
            },
          },
        },
      })
      if (!row) return null
      const { id: invitationId, accountId, role, team } = row.invitation
      return {
        accountId,
        invitationId,
        sessionId,
        sessionKind: 'device',
        organization: team.organization.name,
        team: teamNameOf(team),
        role,
        authenticatedAt: row.login ? provenAt(row.login) : row.createdAt,
      }
    },

    /**
     * Saves when device sessions were last used; a later time stays. A session that is being written is skipped, so
     * that processes never wait for each other here.
     */
    async saveUses(uses: readonly Use[]): Promise<void> {
      const [ids, times, ips] = [uses.map(({ id }) => id), uses.map(({ at }) => at), uses.map(({ ip }) => ip)]
      await db.$executeRaw`
        WITH uses AS (
          SELECT * FROM unnest(${ids}::uuid[], ${times}::timestamptz[], ${ips}::text[]) AS used(id, at, ip)
        ), free AS (
          SELECT s.id FROM device_sessions s JOIN uses USING (id)
          WHERE s.revoked_at IS NULL AND s.last_seen_at < uses.at FOR NO KEY UPDATE OF s SKIP LOCKED
        )
        UPDATE device_sessions s SET last_seen_at = uses.at, last_ip = uses.ip
        FROM uses JOIN free USING (id) WHERE s.id = uses.id`
    },

    /** Finds which of these device sessions have not ended. */
    async findAlive(sessionIds: readonly string[]): Promise<Set<string>> {
      const rows = await db.deviceSession.findMany({
        where: { id: { in: [...sessionIds] }, revokedAt: null, invitation: { revokedAt: null } },
        select: { id: true },
      })
      return new Set(rows.map(({ id }) => id))
    },
  }
}

type Approval = { readonly approvedAt: Date | null; readonly approvedVia: 'mail' | 'session' | 'user_code' | null }

/**
 * When the person proved who they are for a session that a login opened. Only the email's link proves it, and only when
 * it was the link that approved the login: a stolen token can approve a login by its code, and a later click on the
 * link must not make that session fresh.
 */
function provenAt({ approvedAt, approvedVia }: Approval): Date | null {
  return approvedVia === 'mail' ? approvedAt : null
}
