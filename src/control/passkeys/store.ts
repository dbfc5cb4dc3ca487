import { Prisma } from '../../../generated/prisma/client.ts'
import type { Database, Transaction } from '../../database/client.ts'
import { inTransaction } from '../../database/transaction.ts'
import type { Actor } from '../../kernel/caller.ts'
import { requireSignedIn } from '../signed-in.ts'
import { MAX_PASSKEYS } from './rules.ts'
import type { MadePasskey } from './webauthn.ts'

/** A passkey, for its owner. */
export type ListedPasskey = {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  readonly synced: boolean
}

/** A passkey, for the browsers of its owner. */
export type OwnPasskey = ListedPasskey & { readonly credentialId: string; readonly transports: readonly string[] }

/** A passkey, for verifying a sign-in. */
export type StoredPasskey = {
  readonly id: string
  readonly accountId: string
  readonly email: string
  /** base64url */
  readonly userHandle: string
  readonly credentialId: string
  readonly publicKey: Uint8Array<ArrayBuffer>
  readonly counter: bigint
}

type Row = Prisma.PasskeyGetPayload<object>

export type PasskeyStore = ReturnType<typeof makePasskeyStore>

/** The rows of passkeys. */
export function makePasskeyStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** What authenticators know of an account. */
    async findAccount(accountId: string): Promise<{ email: string; userHandle: Uint8Array<ArrayBuffer> }> {
      return db.account.findUniqueOrThrow({ where: { id: accountId }, select: { email: true, userHandle: true } })
    },

    /**
     * Saves a new passkey. `taken`: the credential is registered already. `full`: the account has `MAX_PASSKEYS`.
     * Throws `unauthorized` when the session that registers it has ended in the meantime.
     */
    async add(owner: Actor, made: MadePasskey, name: string, now: Date): Promise<ListedPasskey | 'taken' | 'full'> {
      const { accountId, ip } = owner
      return inTransaction(db, async (tx) => {
        // This lock serialises additions of one account; without it two could pass the limit together.
        await tx.$queryRaw`SELECT id FROM accounts WHERE id = ${accountId}::uuid FOR UPDATE`
        await requireSignedIn(tx, owner)
        if ((await tx.passkey.count({ where: { accountId } })) >= MAX_PASSKEYS) return 'full'
        const row = await tx.passkey.create({ data: { ...made, accountId, name, createdAt: now } })
        await tx.auditEvent.create({ data: passkeyEvent('passkey.added', row, ip, now) })
        return toListed(row)
      }).catch((error: unknown) => {
        if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') return 'taken'
        throw error
      })
    },

    async findByCredential(credentialId: string): Promise<StoredPasskey | null> {
      const row = await db.passkey.findUnique({ where: { credentialId }, include: { account: true } })
      if (!row) return null
      const { account, ...passkey } = row
      return { ...passkey, email: account.email, userHandle: Buffer.from(account.userHandle).toString('base64url') }
    },

    /** Saves a use; false when another use was saved since the passkey was read. */
    async saveUse(
      { id, counter }: StoredPasskey,
      used: { counter: number; backedUp: boolean },
      now: Date,
    ): Promise<boolean> {
      const { count } = await db.passkey.updateMany({
        where: { id, counter },
        data: { counter: used.counter, backedUp: used.backedUp, lastUsedAt: now },
      })
      return count === 1
    },

    /**
     * Writes an audit row. The passkey stays, because a regression is a sign of a copy and no proof (WebAuthn, section
     * 6.1.1).
     */
    async saveRegression(passkey: StoredPasskey, reported: number, ip: string, now: Date): Promise<void> {
      const event = passkeyEvent('passkey.counter_regressed', passkey, ip, now)
      const details = { stored: Number(passkey.counter), reported }
      await db.auditEvent.create({ data: { ...event, details } })
    },

    /** The passkeys of an account, the oldest first. */
    async list(accountId: string): Promise<OwnPasskey[]> {
      const rows = await db.passkey.findMany({ where: { accountId }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
      return rows.map((row) => ({ ...toListed(row), credentialId: row.credentialId, transports: row.transports }))
    },

    /** Renames a passkey of this account, with its audit row; null when the account has no passkey with this id. */
    async rename({ accountId, ip }: Actor, id: string, name: string, now: Date): Promise<ListedPasskey | null> {
      return inTransaction(db, async (tx) => {
        const [row] = await tx.passkey.updateManyAndReturn({ where: { id, accountId }, data: { name } })
        if (!row) return null
        await tx.auditEvent.create({ data: { ...passkeyEvent('passkey.renamed', row, ip, now), details: { name } } })
        return toListed(row)
      })
    },

    /** Deletes a passkey of this account, with its audit row; null when the account has no passkey with this id. */
    async remove({ accountId, ip }: Actor, id: string, now: Date): Promise<{ name: string; email: string } | null> {
      return inTransaction(db, async (tx) => {
        const row = await tx.passkey.findFirst({ where: { id, accountId }, include: { account: true } })
        const { count } = await tx.passkey.deleteMany({ where: { id, accountId } })
        if (!row || count === 0) return null
        await tx.auditEvent.create({ data: passkeyEvent('passkey.removed', row, ip, now) })
        return { name: row.name, email: row.account.email }
      })
    },
  }
}

/** Deletes the passkeys of an account that were added since a time, with their audit rows. Returns their names. */
export async function removePasskeysSince(
  tx: Transaction,
  { accountId, ip }: Actor,
  since: Date,
  now: Date,
): Promise<string[]> {
  // One statement, so that a passkey that is deleted meanwhile has no second audit row.
  const rows = await tx.$queryRaw<{ id: string; name: string }[]>`
    DELETE FROM passkeys WHERE account_id = ${accountId}::uuid AND created_at >= ${since} RETURNING id::text, name`
  await tx.auditEvent.createMany({
    data: rows.map(({ id }) => passkeyEvent('passkey.removed', { id, accountId }, ip, now)),
  })
  return rows.map(({ name }) => name)
}

function passkeyEvent(
  kind: 'passkey.added' | 'passkey.renamed' | 'passkey.removed' | 'passkey.counter_regressed',
  { id, accountId }: { id: string; accountId: string },
  ip: string,
  at: Date,
) {
  return { kind, at, accountId, subjectId: id, ip }
}

function toListed({ id, name, createdAt, lastUsedAt, backedUp }: Row): ListedPasskey {
  return { id, name, createdAt, lastUsedAt, synced: backedUp }
}
