import type { Database, Transaction } from '../../database/client.ts'
import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import { inTransaction } from '../../database/transaction.ts'
import { toEmail } from '../../kernel/email.ts'
import { isUuid, NIL_UUID } from '../../kernel/identifier.ts'
import type { Period } from '../../spending/periods.ts'
import type { Subject } from '../../spending/rules.ts'
import { saveTeamEvent } from '../audit/save-team-event.ts'
import { lockTeam } from '../team-access.ts'
import type { TeamActor } from '../team-access.ts'
import { NOTICE_PERCENTAGES } from './rules.ts'
import type { ReachedLimit } from './rules.ts'

/** Whose limit it is, by the columns of its row. */
type LimitOwner =
  | { readonly subject: 'team' | 'members' }
  | { readonly subject: 'member'; readonly accountId: string }
  | { readonly subject: 'key'; readonly keyId: string }
  | { readonly subject: 'service_account'; readonly serviceAccountId: string }

/** How many limits a team can have. Gateways keep all of them in memory. */
export const MAX_LIMITS = 1000

export type LimitStore = ReturnType<typeof makeLimitStore>

/** What an admin asks a new limit to be. */
export type WantedLimit = {
  readonly subject: Subject
  /** A member by address, a key by id, a service account by name or id; undefined for `team` and `members`. */
  readonly of: string | undefined
  readonly period: Period
  /** In 10^-9 USD. */
  readonly amountNanoUsd: number
}

/** Why a limit was not created. `unknown_subject`: the team has none such, or `of` does not fit the subject. */
export type LimitRefusal = 'unknown_subject' | 'exists' | 'too_many'

/** Changes spending limits, each with an audit event in the same transaction. */
export function makeLimitStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** Creates a limit; resolves with its id, or says why it was not created. */
    async create(
      admin: TeamActor,
      { subject, of, period, amountNanoUsd }: WantedLimit,
      now: Date,
    ): Promise<{ readonly id: string } | LimitRefusal> {
      const { teamId } = admin
      return inTransaction(db, async (tx) => {
        await lockTeam(tx, admin)
        const owner = await OWNER_FINDERS[subject](tx, teamId, of ?? '')
        if (!owner) return 'unknown_subject'
        if ((await tx.spendingLimit.count({ where: { teamId, ...owner, period } })) > 0) return 'exists'
        if ((await tx.spendingLimit.count({ where: { teamId } })) >= MAX_LIMITS) return 'too_many'
        const data = { teamId, ...owner, period, amountNanoUsd: BigInt(amountNanoUsd), createdAt: now }
        const row = await tx.spendingLimit.create({ data, select: { id: true } })
        await saveEvent(tx, admin, { kind: 'spending_limit.created', id: row.id }, now)
        return row
      })
    },

    /** Changes the amount of a limit, unless it is that already; false when the team has no such limit. */
    async change(admin: TeamActor, id: string, amountNanoUsd: number, now: Date): Promise<boolean> {
      return inTransaction(db, async (tx) => {
        await lockTeam(tx, admin)
        const limit = await tx.spendingLimit.findFirst({ where: { id, teamId: admin.teamId } })
        if (limit === null) return false
        const previousAmountNanoUsd = Number(limit.amountNanoUsd)
        if (previousAmountNanoUsd === amountNanoUsd) return true
        await tx.spendingLimit.update({ where: { id }, data: { amountNanoUsd: BigInt(amountNanoUsd) } })
        await saveEvent(tx, admin, { kind: 'spending_limit.changed', id, more: { previousAmountNanoUsd } }, now)
        return true
      })
    },

    /** Removes a limit; false when the team has no such limit. */
    async remove(admin: TeamActor, id: string, now: Date): Promise<boolean> {
      const where = { id, teamId: admin.teamId }
      return inTransaction(db, async (tx) => {
        await lockTeam(tx, admin)
        if ((await tx.spendingLimit.count({ where })) === 0) return false
        await saveEvent(tx, admin, { kind: 'spending_limit.removed', id }, now)
        await tx.spendingLimit.deleteMany({ where })
        return true
      })
    },
  }
}

type FindOwner = (tx: Transaction, teamId: string, of: string) => Promise<LimitOwner | null>

/**
 * Finds whose limit is meant. A key is locked, so that it stays until the limit is saved. A service account stays
 * because the team is locked.
 */
const OWNER_FINDERS: Readonly<Record<Subject, FindOwner>> = {
  team: async () => ({ subject: 'team' }),
  members: async () => ({ subject: 'members' }),
  async member(tx, teamId, of) {
    const where = { teamId, revokedAt: null, account: { email: toEmail(of) ?? '' } }
    const found = await tx.invitation.findFirst({ where, select: { accountId: true } })
    return found && { subject: 'member', accountId: found.accountId }
  },
  async key(tx, teamId, of) {
    if (!isUuid(of)) return null
    const ofTeam = [{ invitation: { teamId } }, { serviceAccount: { teamId } }]
    const found = await tx.apiKey.findFirst({ where: { id: of, revokedAt: null, OR: ofTeam }, select: { id: true } })
    const keyId = found && (await lockNewestKey(tx, found.id))
    return keyId === null ? null : { subject: 'key', keyId }
  },
  async service_account(tx, teamId, of) {
    // Postgres cannot read a text with NUL.
    if (of.includes('\0')) return null
    const [found] = await tx.$queryRaw<{ id: string }[]>`
      SELECT id::text FROM service_accounts
      WHERE team_id = ${teamId}::uuid AND (name = ${of} OR id::text = lower(${of}))`
    return found ? { subject: 'service_account', serviceAccountId: found.id } : null
  },
}

/**
 * Finds and locks the newest of the keys that have replaced a key, or the key itself. A limit belongs to the newest
 * key, and also counts the calls of those before. Null when it was deleted with its service account. Waits for a
 * rotation that is running.
 */
async function lockNewestKey(tx: Transaction, id: string): Promise<string | null> {
  const [row] = await tx.$queryRaw<{ next: string | null }[]>`
    SELECT replaced_by_id::text AS next FROM api_keys WHERE id = ${id}::uuid FOR KEY SHARE`
  if (!row) return null
  return row.next === null ? id : lockNewestKey(tx, row.next)
}

/** Whose limit it is, for the audit row. */
const OWNER = {
  account: { select: { email: true } },
  key: { select: { name: true } },
  serviceAccount: { select: { name: true } },
} as const

/** `more`: details beside those of the limit. */
type LimitEvent = { readonly kind: string; readonly id: string; readonly more?: Readonly<Record<string, number>> }

async function saveEvent(tx: Transaction, admin: TeamActor, { kind, id, more }: LimitEvent, at: Date): Promise<void> {
  const row = await tx.spendingLimit.findUniqueOrThrow({ where: { id }, include: OWNER })
  const { id: subjectId, subject, accountId, keyId, serviceAccountId, period } = row
  const of = accountId ?? keyId ?? serviceAccountId
  const owner = row.account?.email ?? row.key?.name ?? row.serviceAccount?.name ?? subject
  const details = {
    name: `${owner}, ${period}`,
    subject,
    of,
    period,
    amountNanoUsd: Number(row.amountNanoUsd),
    ...more,
  }
  await saveTeamEvent(tx, admin, { kind, subjectId, details }, at)
}

/** A notice that this process has to send. */
export type ClaimedNotice = ReachedLimit & {
  /** The addresses of the team's admins. */
  readonly admins: readonly string[]
  /** The address of the member, for a limit of each member. */
  readonly member: string | null
}

/** A share of a limit that no process has announced before. */
type Claim = { readonly limitId: string; readonly accountId: string; readonly percent: number }

/**
 * How many are claimed at once, so that a new limit that thousands of members have reached does not send all admins
 * thousands of emails at once. They would fill the memory, and most of them would find no connection in time.
 */
const MAX_CLAIMS = 100

/** The account of a notice whose limit is not one of each member. */
const NO_ACCOUNT = NIL_UUID

/** The notices about spending limits that were sent, so that no two processes send the same one. */
export function makeNoticeStore({ query }: Pick<Database, 'query'>) {
  return {
    /**
     * Claims notices that no process has sent, at most `MAX_CLAIMS`. A limit that jumps to 100 % is told once, so its
     * lower shares are claimed with it, or before it.
     */
    async claim(reached: readonly ReachedLimit[], now: Date): Promise<ClaimedNotice[]> {
      // One statement: each minute it gets all that was reached, which can be thousands of members.
      const rows = await query<Claim & { readonly email: string | null }>(sql`
        WITH claimed AS (${insertNotices(reached, now)})
        SELECT limit_id::text AS "limitId", account_id::text AS "accountId", percent, email
        FROM claimed LEFT JOIN accounts ON accounts.id = account_id`)
      const emails = new Map(rows.map((row) => [keyOf(row), row.email]))
      const own = reached.flatMap((one) => {
        const member = emails.get(keyOf(toClaim(one)))
        // An account may have been deleted since the limits were read.
        const isGone = member === null && one.accountId !== null
        return member === undefined || isGone ? [] : [{ ...one, member }]
      })
      if (own.length === 0) return []
      const admins = await findAdmins(new Set(own.map(({ limit }) => limit.id)))
      return own.map((one) => ({ ...one, admins: admins.get(one.limit.id) ?? [] }))
    },
  }

  /** The addresses of the admins who are told, by limit. */
  async function findAdmins(limitIds: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly string[]>> {
    const rows = await query<{ limitId: string; emails: string[] }>(sql`
      SELECT l.id::text AS "limitId", array_agg(a.email) AS emails
      FROM spending_limits l
      JOIN invitations i ON i.team_id = l.team_id AND i.role = 'admin' AND i.revoked_at IS NULL
      JOIN accounts a ON a.id = i.account_id
      WHERE l.id = ANY (${[...limitIds]}::uuid[]) GROUP BY l.id`)
    return new Map(rows.map(({ limitId, emails }) => [limitId, emails]))
  }
}

/** Inserts notices that are not there yet, and returns them. */
function insertNotices(reached: readonly ReachedLimit[], now: Date): Sql {
  const notices = reached.flatMap((one) =>
    NOTICE_PERCENTAGES.filter((share) => share <= one.percent).map((percent) => ({
      ...toClaim({ ...one, percent }),
      periodStart: one.limit.span.from,
      amountNanoUsd: one.limit.amountNanoUsd,
    })),
  )
  return sql`
    INSERT INTO spending_notices (limit_id, account_id, period_start, percent, amount_nano_usd, sent_at)
    SELECT limit_id, account_id, period_start, percent, amount, ${now}::timestamptz
    FROM unnest(
      ${notices.map(({ limitId }) => limitId)}::uuid[], ${notices.map(({ accountId }) => accountId)}::uuid[],
      ${notices.map(({ periodStart }) => periodStart)}::date[], ${notices.map(({ percent }) => percent)}::int[],
      ${notices.map(({ amountNanoUsd }) => amountNanoUsd)}::bigint[]
    ) AS notice (limit_id, account_id, period_start, percent, amount)
    -- Those that were sent before do not count towards the maximum.
    WHERE NOT EXISTS (
      SELECT FROM spending_notices sent
      WHERE sent.limit_id = notice.limit_id AND sent.account_id = notice.account_id
        AND sent.period_start = notice.period_start AND sent.percent = notice.percent
        AND sent.amount_nano_usd = notice.amount
    )
    -- In one order, so that two processes cannot wait for each other. Limits that are not of each member come first.
    ORDER BY account_id, limit_id, percent LIMIT ${MAX_CLAIMS}::int
    ON CONFLICT DO NOTHING RETURNING limit_id, account_id, percent`
}

function toClaim({ limit, accountId, percent }: ReachedLimit): Claim {
  return { limitId: limit.id, accountId: accountId ?? NO_ACCOUNT, percent }
}

function keyOf({ limitId, accountId, percent }: Claim): string {
  return `${limitId}/${accountId}/${percent}`
}
