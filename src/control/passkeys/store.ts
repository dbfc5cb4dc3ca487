import { Prisma } from '../../../generated/prisma/client.ts'
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import { MOST_PASSKEYS } from './rules.ts'
import type { Challenge } from './rules.ts'
import type { MadePasskey } from './webauthn.ts'

/** A passkey, as its owner sees it. */
export type ListedPasskey = {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  readonly synced: boolean
}

/** A passkey, to sign in with. */
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

export type PasskeyStore = ReturnType<typeof passkeyStore>

export function passkeyStore(db: PrismaClient) {
  return {
    async saveChallenge(hash: SecretHash, challenge: Challenge, now: Date): Promise<void> {
      await db.webauthnChallenge.create({ data: { hash, ...challenge, createdAt: now } })
    },

    /** What a challenge was given out for, to exactly one caller: it is deleted before anybody verifies its answer. */
    async takeChallenge(hash: SecretHash): Promise<Challenge | null> {
      const challenge = await db.webauthnChallenge.findUnique({ where: { hash } })
      const { count } = await db.webauthnChallenge.deleteMany({ where: { hash } })
      return count === 1 ? challenge : null
    },

    /** Who is about to get a passkey, with those they have. */
    async findRegistrant(accountId: string) {
      return db.account.findUniqueOrThrow({
        where: { id: accountId },
        select: { email: true, userHandle: true, passkeys: { select: { credentialId: true, transports: true } } },
      })
    },

    /** Keeps a new passkey. `taken`: somebody has this credential. `full`: the account has as many as it may. */
    async add(
      made: MadePasskey,
      { accountId, name, ip }: { accountId: string; name: string; ip: string },
      now: Date,
    ): Promise<ListedPasskey | 'taken' | 'full'> {
      return db
        .$transaction(async (tx) => {
          // One after the other for each account, or two could pass the bound together.
          await tx.$queryRaw`SELECT id FROM accounts WHERE id = ${accountId}::uuid FOR UPDATE`
          if ((await tx.passkey.count({ where: { accountId } })) >= MOST_PASSKEYS) return 'full'
          const row = await tx.passkey.create({ data: { ...made, accountId, name, createdAt: now } })
          await tx.auditEvent.create({ data: passkeyEvent('passkey.added', row, ip, now) })
          return toListed(row)
        })
        .catch((error: unknown) => {
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

    /** Notes a use; false when another one was noted since the passkey was read. */
    async noteUse(
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

    /** Notes that a counter went back. The passkey stays: it is a sign of a copy, no proof (WebAuthn, section 6.1.1). */
    async noteRegression(passkey: StoredPasskey, reported: number, ip: string, now: Date): Promise<void> {
      const event = passkeyEvent('passkey.counter_regressed', passkey, ip, now)
      const details = { stored: Number(passkey.counter), reported }
      await db.auditEvent.create({ data: { ...event, details } })
    },

    /** The passkeys of an account, the oldest first. */
    async list(accountId: string): Promise<ListedPasskey[]> {
      const rows = await db.passkey.findMany({ where: { accountId }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
      return rows.map(toListed)
    },

    /** Gives a passkey of this account another name; null when it has none of this id. */
    async rename(id: string, accountId: string, name: string): Promise<ListedPasskey | null> {
      const [row] = await db.passkey.updateManyAndReturn({ where: { id, accountId }, data: { name } })
      return row ? toListed(row) : null
    },

    /** Deletes a passkey of this account, once; null when it has none of this id. */
    async remove(
      id: string,
      accountId: string,
      ip: string,
      now: Date,
    ): Promise<{ name: string; email: string } | null> {
      return db.$transaction(async (tx) => {
        const row = await tx.passkey.findFirst({ where: { id, accountId }, include: { account: true } })
        const { count } = await tx.passkey.deleteMany({ where: { id, accountId } })
        if (!row || count === 0) return null
        await tx.auditEvent.create({ data: passkeyEvent('passkey.removed', row, ip, now) })
        return { name: row.name, email: row.account.email }
      })
    },
  }
}

function passkeyEvent(
  kind: 'passkey.added' | 'passkey.removed' | 'passkey.counter_regressed',
  { id, accountId }: { id: string; accountId: string },
  ip: string,
  at: Date,
) {
  return { kind, at, accountId, subjectId: id, ip }
}

function toListed({ id, name, createdAt, lastUsedAt, backedUp }: Row): ListedPasskey {
  return { id, name, createdAt, lastUsedAt, synced: backedUp }
}
