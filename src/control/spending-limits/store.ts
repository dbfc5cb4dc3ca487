import type { Prisma } from '../../../generated/prisma/client.ts'
import type { Database } from '../../database/client.ts'
import type { Actor } from '../../kernel/caller.ts'
import { toEmail } from '../../kernel/email.ts'
import { isUuid, NIL_UUID } from '../../kernel/identifier.ts'
import type { Period } from '../../spending/periods.ts'
import type { Subject } from '../../spending/rules.ts'
import { NOTICE_PERCENTAGES } from './rules.ts'
import type { ReachedLimit } from './rules.ts'

/** Whose limit it is, by the columns of its row. */
export type LimitOwner =
  | { readonly subject: 'team' | 'members' }
  | { readonly subject: 'member'; readonly accountId: string }
  | { readonly subject: 'key'; readonly keyId: string }
  | { readonly subject: 'service_account'; readonly serviceAccountId: string }

/** How many limits a team can have. Gateways keep all of them in memory. */
export const MAX_LIMITS = 1000

export type LimitStore = ReturnType<typeof makeLimitStore>

/** Changes spending limits, each with an audit event in the same transaction. */
export function makeLimitStore({ prisma: db }: Pick<Database, 'prisma'>) {
  const finders: Readonly<Record<Subject, (teamId: string, of: string) => Promise<LimitOwner | null>>> = {
    team: async () => ({ subject: 'team' }),
    members: async () => ({ subject: 'members' }),
    async member(teamId, of) {
      const where = { teamId, revokedAt: null, account: { email: toEmail(of) ?? '' } }
      const found = await db.invitation.findFirst({ where, select: { accountId: true } })
      return found && { subject: 'member', accountId: found.accountId }
    },
    async key(teamId, of) {
      if (!isUuid(of)) return null
      const ofTeam = [{ invitation: { teamId } }, { serviceAccount: { teamId } }]
      const found = await db.apiKey.findFirst({ where: { id: of, revokedAt: null, OR: ofTeam }, select: { id: true } })
      return found && { subject: 'key', keyId: found.id }
    },
    async service_account(teamId, of) {
      // Postgres cannot read a text with NUL.
      if (of.includes('\0')) return null
      const names = [{ name: of }, ...(isUuid(of) ? [{ id: of }] : [])]
      const found = await db.serviceAccount.findFirst({ where: { teamId, OR: names }, select: { id: true } })
      return found && { subject: 'service_account', serviceAccountId: found.id }
    },
  }

  return {
    /** Finds whose limit is meant: a member by address, a key by id, a service account by name or id. */
    findOwner: (teamId: string, subject: Subject, of: string) => finders[subject](teamId, of),

    /** Creates a limit; resolves with its id, or says that the team has one for this owner and period, or too many. */
    async create(
      teamId: string,
      owner: LimitOwner,
      { period, amountNanoUsd }: { readonly period: Period; readonly amountNanoUsd: number },
      actor: Actor,
      now: Date,
    ): Promise<{ readonly id: string } | 'exists' | 'too_many'> {
      return db.$transaction(async (tx) => {
        // Limits of a team are created one after the other.
        await tx.$queryRaw`SELECT id FROM teams WHERE id = ${teamId}::uuid FOR NO KEY UPDATE`
        if ((await tx.spendingLimit.count({ where: { teamId, ...owner, period } })) > 0) return 'exists'
        if ((await tx.spendingLimit.count({ where: { teamId } })) >= MAX_LIMITS) return 'too_many'
        const data = { teamId, ...owner, period, amountNanoUsd: BigInt(amountNanoUsd), createdAt: now }
        const row = await tx.spendingLimit.create({ data })
        await saveEvent(tx, 'spending_limit.created', row, actor, now)
        return { id: row.id }
      })
    },

    /** Changes the amount of a limit; false when the team has no such limit. */
    async change(id: string, teamId: string, amountNanoUsd: number, actor: Actor, now: Date): Promise<boolean> {
      return db.$transaction(async (tx) => {
        const [row] = await tx.spendingLimit.updateManyAndReturn({
          where: { id, teamId },
          data: { amountNanoUsd: BigInt(amountNanoUsd) },
        })
        if (row) await saveEvent(tx, 'spending_limit.changed', row, actor, now)
        return row !== undefined
      })
    },

    /** Removes a limit; false when the team has no such limit. */
    async remove(id: string, teamId: string, actor: Actor, now: Date): Promise<boolean> {
      return db.$transaction(async (tx) => {
        const row = await tx.spendingLimit.findFirst({ where: { id, teamId } })
        const { count } = await tx.spendingLimit.deleteMany({ where: { id, teamId } })
        if (!row || count === 0) return false
        await saveEvent(tx, 'spending_limit.removed', row, actor, now)
        return true
      })
    },
  }
}

type Row = Prisma.SpendingLimitGetPayload<object>

async function saveEvent(
  tx: Prisma.TransactionClient,
  kind: string,
  { id, teamId, subject, accountId, keyId, serviceAccountId, period, amountNanoUsd }: Row,
  actor: Actor,
  at: Date,
): Promise<void> {
  const of = accountId ?? keyId ?? serviceAccountId
  const details = { name: `${subject}, ${period}`, subject, of, period, amountNanoUsd: Number(amountNanoUsd) }
  await tx.auditEvent.create({
    data: { kind, at, accountId: actor.accountId, teamId, subjectId: id, ip: actor.ip, details },
  })
}

/** A notice that this process has to send. */
export type ClaimedNotice = ReachedLimit & {
  /** The addresses of the team's admins. */
  readonly admins: readonly string[]
  /** The address of the member, for a limit of each member. */
  readonly member: string | null
}

/** The account of a notice whose limit is not one of each member. */
const NO_ACCOUNT = NIL_UUID

/** The notices about spending limits that were sent, so that no two processes send the same one. */
export function makeNoticeStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /**
     * Claims the notices that no process has sent. A limit that jumps to 100 % is told once, so its lower shares are
     * claimed with it.
     */
    async claim(reached: readonly ReachedLimit[], now: Date): Promise<ClaimedNotice[]> {
      const rows = await db.spendingNotice.createManyAndReturn({
        data: reached.flatMap((one) =>
          NOTICE_PERCENTAGES.filter((share) => share <= one.percent).map((percent) => toNotice(one, percent, now)),
        ),
        skipDuplicates: true,
      })
      const claimed = new Set(rows.map(keyOf))
      const own = reached.filter((one) => claimed.has(keyOf(toNotice(one, one.percent, now))))
      if (own.length === 0) return []
      const admins = await findAdmins(own.map(({ limit }) => limit.id))
      const ids = own.map(({ accountId }) => accountId).filter((id) => id !== null)
      const accounts = await db.account.findMany({ where: { id: { in: ids } }, select: { id: true, email: true } })
      const emails = new Map(accounts.map(({ id, email }) => [id, email]))
      // An account may have been deleted since the limits were read.
      return own
        .filter(({ accountId }) => accountId === null || emails.has(accountId))
        .map((one) => ({
          ...one,
          admins: admins.filter(({ limitId }) => limitId === one.limit.id).map(({ email }) => email),
          member: emails.get(one.accountId ?? '') ?? null,
        }))
    },
  }

  function findAdmins(limitIds: readonly string[]): Promise<{ limitId: string; email: string }[]> {
    return db.$queryRaw`
      SELECT l.id::text AS "limitId", a.email
      FROM spending_limits l
      JOIN invitations i ON i.team_id = l.team_id AND i.role = 'admin' AND i.revoked_at IS NULL
      JOIN accounts a ON a.id = i.account_id
      WHERE l.id = ANY (${[...limitIds]}::uuid[])`
  }
}

function toNotice({ limit, accountId }: ReachedLimit, percent: number, now: Date) {
  return {
    limitId: limit.id,
    accountId: accountId ?? NO_ACCOUNT,
    periodStart: new Date(`${limit.span.from}T00:00:00Z`),
    percent,
    amountNanoUsd: BigInt(limit.amountNanoUsd),
    sentAt: now,
  }
}

function keyOf({ limitId, accountId, percent }: { limitId: string; accountId: string; percent: number }): string {
  return `${limitId}/${accountId}/${percent}`
}
