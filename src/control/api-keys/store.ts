import type { Prisma } from '../../../generated/prisma/client.ts'
import type { Database, Transaction } from '../../database/client.ts'
import { inTransaction } from '../../database/transaction.ts'
import type { Actor } from '../../kernel/caller.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import { teamNameOf } from '../../kernel/team-name.ts'
import { requireSignedIn } from '../signed-in.ts'
import { lockTeam } from '../team-access.ts'
import { endOfOverlap, isWorking, judgeRotation, MAX_KEYS } from './rules.ts'
import type { RotationVerdict } from './rules.ts'

/** An API key, as its owner sees it. */
export type ListedKey = {
  readonly id: string
  readonly name: string
  /** `svck_` and the first four characters after it. */
  readonly prefix: string
  /** `@organization/name` */
  readonly team: string
  /** Null: all models of the team. */
  readonly models: readonly string[] | null
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly lastUsedAt: Date | null
  /** Not null: the key was rotated, and works until `expiresAt`. */
  readonly replacedBy: string | null
}

/** `isNew`: false when the same request has made the key before. */
type SavedKey = { readonly key: ListedKey; readonly isNew: boolean }

/** A key of a service account. */
export type ServiceAccountKey = ListedKey & { readonly serviceAccountId: string }

/** The keys of a person in all teams, or those of a service account. */
export type KeyScope = { readonly accountId: string } | ServiceAccountScope

type ServiceAccountScope = { readonly serviceAccountId: string; readonly teamId: string }

/** What a new key belongs to. */
export type KeyHolder = { readonly invitationId: string; readonly teamId: string } | ServiceAccountScope

/** The keys that are counted together with those of a holder: a person's in all teams. */
export function scopeOf(holder: KeyHolder, { accountId }: Pick<Actor, 'accountId'>): KeyScope {
  return 'serviceAccountId' in holder ? holder : { accountId }
}

/** The parts of a key that are made for it. `id`: undefined for a new one. */
export type KeyParts = {
  readonly id: string | undefined
  readonly hash: SecretHash
  readonly prefix: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

const WITH_TEAM = {
  invitation: { include: { team: { include: { organization: true } } } },
  serviceAccount: { include: { team: { include: { organization: true } } } },
} as const satisfies Prisma.ApiKeyInclude

type Row = Prisma.ApiKeyGetPayload<{ include: typeof WITH_TEAM }>
export type ApiKeyStore = ReturnType<typeof makeApiKeyStore>

/** The rows of API keys. Each change is saved together with its audit row. */
export function makeApiKeyStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** The keys that work, the newest first. */
    async list(scope: KeyScope, now: Date): Promise<ListedKey[]> {
      const rows = await db.apiKey.findMany({
        where: { ...within(scope), ...working(now) },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        include: WITH_TEAM,
      })
      return rows.map(toListed)
    },

    /** The keys of all service accounts of a team that work, the newest first. */
    async listOfServiceAccounts(teamId: string, now: Date): Promise<ServiceAccountKey[]> {
      const rows = await db.apiKey.findMany({
        where: { serviceAccount: { teamId }, ...working(now) },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        include: WITH_TEAM,
      })
      return rows.map((row) => ({ ...toListed(row), serviceAccountId: ownerOf(row).id }))
    },

    /** Who is told about keys: the person, or the admins of the service account's team; and the account's name. */
    async findOwner(scope: KeyScope): Promise<{ emails: string[]; serviceAccount: string | null }> {
      if ('accountId' in scope) {
        const rows = await db.account.findMany({ where: { id: scope.accountId }, select: { email: true } })
        return { emails: rows.map(({ email }) => email), serviceAccount: null }
      }
      const admins = {
        where: { role: 'admin', revokedAt: null },
        select: { account: { select: { email: true } } },
      } as const
      const row = await db.serviceAccount.findUnique({
        where: { id: scope.serviceAccountId },
        select: { name: true, team: { select: { invitations: admins } } },
      })
      return {
        emails: row?.team.invitations.map(({ account }) => account.email) ?? [],
        serviceAccount: row?.name ?? null,
      }
    },

    /** The ids of the published models that a team may use. */
    async findModels(teamId: string): Promise<string[]> {
      const rows = await db.teamModel.findMany({
        where: { teamId, model: { published: true } },
        select: { modelId: true },
      })
      const added = await db.adminModel.findMany({ where: { teamId, published: true }, select: { id: true } })
      return [...rows.map(({ modelId }) => modelId), ...added.map(({ id }) => id)].sort()
    },

    /**
     * Creates a key, or finds the one that was created with the same id and secret. `sent_before`: a key with this id
     * was created with another secret, or it has ended. `not_found`: the invitation was withdrawn, or the service
     * account deleted. Throws `unauthorized` when the session that creates it has ended in the meantime.
     */
    async create(
      actor: Actor,
      holder: KeyHolder,
      given: KeyParts & { readonly name: string; readonly models: readonly string[] },
    ): Promise<SavedKey | 'not_found' | 'sent_before' | 'too_many'> {
      return inTransaction(db, async (tx) => {
        if (!(await lockHolder(tx, holder, actor))) return 'not_found'
        const made = await findMade(tx, given)
        if (made) return made
        if ((await countWorking(tx, scopeOf(holder, actor), given.createdAt)) >= MAX_KEYS) return 'too_many'
        const row = await save(tx, holder, given)
        await tx.auditEvent.create({ data: keyEvent('api_key.created', row, actor, given.createdAt) })
        return { key: toListed(row), isNew: true }
      })
    },

    /**
     * Replaces a key by a new one with the same name, team and models, or finds the one that has replaced it with the
     * same id and secret. `hasEnded`: the old one has ended already. Throws as `create` does.
     */
    async rotate(
      actor: Actor,
      id: string,
      scope: KeyScope,
      parts: KeyParts,
      overlapSeconds: number | undefined,
    ): Promise<(SavedKey & { hasEnded: boolean }) | Exclude<RotationVerdict, 'rotate'>> {
      const now = parts.createdAt
      return inTransaction(db, async (tx) => {
        const where = { id, ...within(scope) }
        const found = await tx.apiKey.findFirst({ where, include: WITH_TEAM })
        if (!found || !(await lockHolder(tx, holderOf(found), actor))) return 'not_found'
        await tx.$queryRaw`SELECT id FROM api_keys WHERE id = ${id}::uuid FOR UPDATE`
        const old = await tx.apiKey.findUnique({ where: { id } })
        if (!old) return 'not_found'
        const made = await findMade(tx, parts)
        if (made) return made === 'sent_before' ? 'rotated_before' : { ...made, hasEnded: false }
        const endsAt = endOfOverlap(old, now, overlapSeconds)
        const verdict = judgeRotation(old, await countWorking(tx, scope, now), endsAt, now)
        if (verdict !== 'rotate') return verdict
        const row = await save(tx, holderOf(found), { ...parts, name: old.name, models: old.models })
        await tx.apiKey.update({ where: { id }, data: { expiresAt: endsAt, replacedById: row.id } })
        // A spending limit counts a key together with those that it replaces.
        await tx.spendingLimit.updateMany({ where: { keyId: id }, data: { keyId: row.id } })
        const event = keyEvent('api_key.rotated', row, actor, now)
        const details = { ...event.details, replaces: id, replacedEndsAt: endsAt.toISOString() }
        await tx.auditEvent.create({ data: { ...event, details } })
        return { key: toListed(row), isNew: true, hasEnded: endsAt <= now }
      })
    },

    /** Revokes a key that works; false when there is none with this id. */
    async revoke(actor: Actor, id: string, scope: KeyScope, now: Date): Promise<boolean> {
      const own = { id, ...within(scope), ...working(now) }
      return inTransaction(db, async (tx) => {
        if ('serviceAccountId' in scope) await lockTeam(tx, { ...actor, teamId: scope.teamId })
        return (await endKeys(tx, own, 'revoked', actor, now)).length === 1
      })
    },
  }
}

/**
 * Revokes the keys that a person made since a time, for a person whose account somebody else used. Returns their ids.
 */
export async function revokeKeysSince(tx: Transaction, actor: Actor, since: Date, now: Date): Promise<string[]> {
  const made = { invitation: { accountId: actor.accountId }, createdAt: { gte: since } }
  return endKeys(tx, made, 'signed_out_everywhere', actor, now)
}

/** Revokes keys, with an audit row for each. Returns their ids. */
async function endKeys(
  tx: Transaction,
  where: Prisma.ApiKeyWhereInput,
  reason: string,
  actor: Actor,
  now: Date,
): Promise<string[]> {
  const rows = await tx.apiKey.updateManyAndReturn({
    where: { AND: [where, { revokedAt: null }] },
    data: { revokedAt: now, revokedReason: reason },
    include: { invitation: true, serviceAccount: true },
  })
  const data = rows.map((row) => {
    const event = keyEvent('api_key.revoked', row, actor, now)
    return { ...event, details: { ...event.details, reason } }
  })
  await tx.auditEvent.createMany({ data })
  return rows.map(({ id }) => id)
}

function within(scope: KeyScope): Prisma.ApiKeyWhereInput {
  if ('serviceAccountId' in scope) return { serviceAccountId: scope.serviceAccountId }
  return { invitation: { accountId: scope.accountId, revokedAt: null } }
}

function working(now: Date): Prisma.ApiKeyWhereInput {
  return { revokedAt: null, expiresAt: { gt: now } }
}

async function countWorking(tx: Transaction, scope: KeyScope, now: Date): Promise<number> {
  return tx.apiKey.count({ where: { ...within(scope), ...working(now) } })
}

/**
 * Locks what a key belongs to, so that its keys are counted and made one after the other, and a withdrawal waits. False
 * when it does not exist any more. Throws `unauthorized` when the session of the actor has ended.
 */
async function lockHolder(tx: Transaction, holder: KeyHolder, actor: Actor): Promise<boolean> {
  if ('serviceAccountId' in holder) {
    await lockTeam(tx, { ...actor, teamId: holder.teamId })
    const rows = await tx.$queryRaw<object[]>`
      SELECT id FROM service_accounts WHERE id = ${holder.serviceAccountId}::uuid FOR NO KEY UPDATE`
    return rows.length === 1
  }
  const rows = await tx.$queryRaw<object[]>`
    SELECT i.id FROM invitations i JOIN accounts a ON a.id = i.account_id
    WHERE i.id = ${holder.invitationId}::uuid AND i.revoked_at IS NULL FOR NO KEY UPDATE`
  if (rows.length === 1) await requireSignedIn(tx, actor)
  return rows.length === 1
}

/** The key that the same request has made before; null when there is none. */
async function findMade(tx: Transaction, { id, hash, createdAt }: KeyParts): Promise<SavedKey | 'sent_before' | null> {
  const row = id === undefined ? null : await tx.apiKey.findUnique({ where: { id }, include: WITH_TEAM })
  if (!row) return null
  return row.hash === hash && isWorking(row, createdAt) ? { key: toListed(row), isNew: false } : 'sent_before'
}

async function save(
  tx: Transaction,
  holder: KeyHolder,
  given: KeyParts & { readonly name: string; readonly models: readonly string[] },
): Promise<Row> {
  const { teamId: _team, ...owner } = holder
  const { id, ...columns } = given
  return tx.apiKey.create({
    data: { ...columns, ...(id && { id }), ...owner, models: [...given.models] },
    include: WITH_TEAM,
  })
}

/** The service account or the invitation of a key, which has exactly one of them. */
function ownerOf<ServiceAccount, Invitation>(key: {
  readonly serviceAccount: ServiceAccount | null
  readonly invitation: Invitation | null
}): ServiceAccount | Invitation {
  const owner = key.serviceAccount ?? key.invitation
  if (owner === null) throw new Error('An API key has neither an invitation nor a service account.')
  return owner
}

function holderOf(row: Row): KeyHolder {
  const { id, teamId } = ownerOf(row)
  return row.serviceAccount ? { serviceAccountId: id, teamId } : { invitationId: id, teamId }
}

type AuditedKey = Prisma.ApiKeyGetPayload<{ include: { invitation: true; serviceAccount: true } }>

function keyEvent(kind: string, row: AuditedKey, { accountId, ip }: Actor, at: Date) {
  const { id: subjectId, name, models, expiresAt, serviceAccount } = row
  const { teamId } = ownerOf(row)
  const details = { name, models, expiresAt: expiresAt.toISOString(), serviceAccount: serviceAccount?.name ?? null }
  return { kind, at, accountId, teamId, subjectId, ip, details }
}

function toListed(row: Row): ListedKey {
  const { id, name, prefix, createdAt, expiresAt, lastUsedAt, replacedById: replacedBy } = row
  const team = teamNameOf(ownerOf(row).team)
  const models = row.models.length > 0 ? row.models : null
  return { id, name, prefix, team, models, createdAt, expiresAt, lastUsedAt, replacedBy }
}
