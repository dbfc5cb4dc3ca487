import type { Database } from '../database/client.ts'
import { inTransaction } from '../database/transaction.ts'
import { Secret } from '../kernel/secret.ts'

export type KeyPurpose = 'access_token' | 'refresh_token'

/** A key as it is stored. */
export type StoredKey = {
  readonly kid: string
  readonly purpose: KeyPurpose
  readonly secret: Secret
  readonly signsFrom: Date
  readonly retiresAt: Date | null
}

export type SigningKeyStore = ReturnType<typeof makeSigningKeyStore>

/** The keys that sign access tokens and compute refresh tokens. */
export function makeSigningKeyStore({ prisma: db }: Pick<Database, 'prisma'>) {
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
  }
}
