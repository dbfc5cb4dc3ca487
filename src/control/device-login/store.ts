import { Prisma } from '../../../generated/prisma/client.ts'
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { addMs } from '../../kernel/clock.ts'
import { withRetry } from '../../database/errors.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import { endBrowserSessions } from '../browser-session/store.ts'
import type { NewBrowserSession } from '../browser-session/store.ts'
import type { DeviceLogin, LinkKind } from './rules.ts'

/** An active invitation: what a login is started with. */
export type Invitation = {
  readonly id: string
  readonly accountId: string
  readonly email: string
  readonly team: string
}

export type NewDeviceLogin = {
  /** Null: nobody is named yet. */
  readonly invitationId: string | null
  readonly deviceId: string
  readonly deviceName: string
  readonly deviceCodeHash: SecretHash
  readonly userCode: string
  readonly mailTokenHash: SecretHash
  readonly handleTokenHash: SecretHash | null
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly startIp: string
  readonly startUserAgent: string
}

/** A login with whom and what it is for. */
export type FoundLogin = DeviceLogin & {
  readonly id: string
  readonly invitationId: string
  readonly accountId: string
  readonly email: string
  readonly organization: string
  readonly team: string
  readonly deviceId: string
  readonly deviceName: string
  readonly userCode: string | null
  readonly startIp: string
  readonly createdAt: Date
  readonly approvedVia: 'mail' | 'session' | 'user_code' | null
  /** Nobody is named in it yet: it is shown as the caller's, and becomes theirs when they approve it. */
  readonly unnamed: boolean
}

/** A login that nobody is named in. */
type UnnamedLogin = DeviceLogin & { readonly id: string; readonly invitationId: null }

/** A login, found by one of its links. */
export type LinkedLogin = FoundLogin & { readonly link: LinkKind; readonly usedAt: Date | null }

/** Who decides a login, and how. `sessionId` is null when the mail alone decides. */
export type Decision = {
  readonly via: 'mail' | 'session' | 'user_code'
  readonly sessionId: string | null
  readonly ip: string
}

/** The browser session that approving begins, and the one of the same browser that it ends; null when there was none. */
export type SignedInBrowser = { readonly session: NewBrowserSession; readonly replaces: SecretHash | null }

/** More live logins of one account than this are somebody who bombs a mailbox. */
const MOST_LIVE_LOGINS = 10

const WITH_PEOPLE = {
  invitation: { include: { account: true, team: { include: { organization: true } } } },
  deviceSession: { select: { generation: true, revokedAt: true } },
} as const satisfies Prisma.DeviceLoginInclude

type Row = Prisma.DeviceLoginGetPayload<{ include: typeof WITH_PEOPLE }>
type Where = Prisma.DeviceLoginWhereInput
type Changes = Prisma.DeviceLoginUncheckedUpdateManyInput

export type DeviceLoginStore = ReturnType<typeof deviceLoginStore>

export function deviceLoginStore(db: PrismaClient) {
  const inTransaction = <T>(run: (tx: Prisma.TransactionClient) => Promise<T>) => withRetry(() => db.$transaction(run))

  /**
   * True for exactly one caller, however many arrive together; with its audit row, or not at all. `first` is written only where nobody
   * has approved before.
   */
  async function decideOnce(
    login: FoundLogin,
    where: Where,
    changes: Changes,
    audit: { kind: string; at: Date } & Decision,
    { first, browser }: { first?: Changes; browser?: SignedInBrowser | null } = {},
  ): Promise<boolean> {
    return inTransaction(async (tx) => {
      // Whoever is first to approve a login that names nobody is whom it names.
      const named = login.unnamed ? { where: { invitationId: null }, data: { invitationId: login.invitationId } } : {}
      const { count } = await tx.deviceLogin.updateMany({
        where: { id: login.id, ...where, ...named.where },
        data: { ...changes, ...named.data },
      })
      if (count === 0) return false
      if (first) await tx.deviceLogin.updateMany({ where: { id: login.id, approvedAt: null }, data: first })
      if (browser) await tx.browserSession.create({ data: browser.session })
      // With the new one or not at all: whoever was signed in here before is not any more.
      if (browser?.replaces) await endBrowserSessions(tx, { hash: browser.replaces }, 'replaced', audit.at, audit.ip)
      await tx.auditEvent.create({
        data: {
          at: audit.at,
          kind: audit.kind,
          accountId: login.accountId,
          subjectId: login.id,
          ip: audit.ip,
          details: { via: audit.via, deviceId: login.deviceId, ...(audit.sessionId && { sessionId: audit.sessionId }) },
        },
      })
      return true
    })
  }

  return {
    /** The active invitation of an address: of that team, or else the oldest. */
    async findInvitation(
      email: string,
      team: { organization: string; name: string } | null,
    ): Promise<Invitation | null> {
      const row = await db.invitation.findFirst({
        where: {
          revokedAt: null,
          account: { email },
          ...(team && { team: { name: team.name, organization: { name: team.organization } } }),
        },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        include: { account: true, team: { include: { organization: true } } },
      })
      if (!row) return null
      return {
        id: row.id,
        accountId: row.accountId,
        email: row.account.email,
        team: formatTeamName({ organization: row.team.organization.name, name: row.team.name }),
      }
    },

    /** Keeps a new login and cancels the account's oldest beyond the bound. Null when the user code is taken by another live login. */
    async create(login: NewDeviceLogin, accountId: string | null): Promise<string | null> {
      try {
        return await inTransaction(async (tx) => {
          // One after the other for each account, or the bound would not hold for starts that arrive together.
          if (accountId) await tx.$queryRaw`SELECT 1 FROM accounts WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`
          const { id } = await tx.deviceLogin.create({ data: login, select: { id: true } })
          await tx.auditEvent.create({
            data: {
              at: login.createdAt,
              kind: 'device_login.started',
              accountId,
              subjectId: id,
              ip: login.startIp,
              details: { deviceId: login.deviceId },
            },
          })
          if (accountId === null) return id
          const surplus = await tx.deviceLogin.findMany({
            // Never the new one: another process's clock may be ahead.
            where: {
              id: { not: id },
              status: 'pending',
              expiresAt: { gt: login.createdAt },
              invitation: { accountId },
            },
            orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
            skip: MOST_LIVE_LOGINS - 1,
            select: { id: true },
          })
          if (surplus.length > 0) {
            await tx.deviceLogin.updateMany({
              where: { id: { in: surplus.map((row) => row.id) }, status: 'pending' },
              data: { status: 'cancelled', userCode: null },
            })
          }
          return id
        })
      } catch (error) {
        if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') return null
        throw error
      }
    },

    /** Ends a login whose mail was not accepted. */
    async cancel(id: string): Promise<void> {
      await db.deviceLogin.updateMany({
        where: { id, status: 'pending' },
        data: { status: 'cancelled', userCode: null },
      })
    },

    async find(id: string): Promise<FoundLogin> {
      return toNamedLogin(await db.deviceLogin.findUniqueOrThrow({ where: { id }, include: WITH_PEOPLE }))
    },

    async findByDeviceCode(hash: SecretHash): Promise<FoundLogin | UnnamedLogin | null> {
      const row = await db.deviceLogin.findUnique({ where: { deviceCodeHash: hash }, include: WITH_PEOPLE })
      if (!row) return null
      return row.invitation ? toLogin(row, row.invitation) : { ...toState(row, null), id: row.id, invitationId: null }
    },

    async findByLink(hash: SecretHash): Promise<LinkedLogin | null> {
      const row = await db.deviceLogin.findFirst({
        // No link goes out for a login that names nobody.
        where: { invitationId: { not: null }, OR: [{ mailTokenHash: hash }, { handleTokenHash: hash }] },
        include: WITH_PEOPLE,
      })
      if (!row) return null
      return row.mailTokenHash === hash
        ? { ...toNamedLogin(row), link: 'mail', usedAt: row.mailUsedAt }
        : { ...toNamedLogin(row), link: 'handle', usedAt: row.handleUsedAt }
    },

    /**
     * A login of this account by its user code, or one that names nobody yet; somebody else's is as unknown as one that does not
     * exist.
     */
    async findByUserCode(
      userCode: string,
      { accountId, invitationId }: { accountId: string; invitationId: string },
    ): Promise<FoundLogin | null> {
      const row = await db.deviceLogin.findFirst({
        where: { userCode, OR: [{ invitation: { accountId } }, { invitationId: null }] },
        include: WITH_PEOPLE,
      })
      if (!row) return null
      const callers = { where: { id: invitationId }, include: WITH_PEOPLE.invitation.include }
      return toLogin(row, row.invitation ?? (await db.invitation.findUniqueOrThrow(callers)))
    },

    /** Notes a poll; false when another one was noted within `intervalMs` of it. A refused poll must not count, or an eager client waits for ever. */
    async notePoll(id: string, now: Date, intervalMs: number): Promise<boolean> {
      const { count } = await db.deviceLogin.updateMany({
        where: {
          id,
          OR: [
            { lastPolledAt: null },
            { lastPolledAt: { lte: addMs(now, -intervalMs) } },
            // Noted before the clock was set back.
            { lastPolledAt: { gte: addMs(now, intervalMs) } },
          ],
        },
        data: { lastPolledAt: now },
      })
      return count === 1
    },

    /**
     * Approves by a link, once per link, and signs the browser in with it where it is the mail's. A link also counts on a login that was
     * approved another way meanwhile.
     */
    async approveByLink(
      login: LinkedLogin,
      now: Date,
      decision: Decision,
      browser: SignedInBrowser | null,
    ): Promise<boolean> {
      const unused = login.link === 'mail' ? { mailUsedAt: null } : { handleUsedAt: null }
      const used = login.link === 'mail' ? { mailUsedAt: now } : { handleUsedAt: now }
      return decideOnce(
        login,
        { ...unused, status: { in: ['pending', 'approved'] }, expiresAt: { gt: now } },
        { ...used, status: 'approved' },
        { kind: 'device_login.approved', at: now, ...decision },
        { first: approval(now, decision), browser },
      )
    },

    async approveByCode(login: FoundLogin, now: Date, decision: Decision): Promise<boolean> {
      return decideOnce(
        login,
        { status: 'pending', expiresAt: { gt: now } },
        { status: 'approved', ...approval(now, decision) },
        { kind: 'device_login.approved', at: now, ...decision },
      )
    },

    async deny(login: FoundLogin, now: Date, decision: Decision): Promise<boolean> {
      return decideOnce(
        login,
        { status: 'pending', expiresAt: { gt: now } },
        { status: 'denied' },
        { kind: 'device_login.denied', at: now, ...decision },
      )
    },
  }
}

/** When and how a login is approved. */
function approval(now: Date, { via, sessionId }: Decision): Changes {
  return { approvedAt: now, approvedVia: via, ...(sessionId && { approverSessionId: sessionId }) }
}

function toNamedLogin(row: Row): FoundLogin {
  if (!row.invitation) throw new Error('This login names nobody.')
  return toLogin(row, row.invitation)
}

function toLogin(row: Row, invitation: NonNullable<Row['invitation']>): FoundLogin {
  const organization = invitation.team.organization.name
  return {
    ...toState(row, invitation),
    id: row.id,
    invitationId: invitation.id,
    accountId: invitation.accountId,
    email: invitation.account.email,
    organization,
    team: formatTeamName({ organization, name: invitation.team.name }),
    deviceId: row.deviceId,
    deviceName: row.deviceName,
    userCode: row.userCode,
    startIp: row.startIp,
    createdAt: row.createdAt,
    approvedVia: row.approvedVia,
    unnamed: row.invitationId === null,
  }
}

function toState(row: Row, invitation: Row['invitation']): DeviceLogin {
  const { deviceSession } = row
  return {
    status: row.status,
    expiresAt: row.expiresAt,
    approvedAt: row.approvedAt,
    lastPolledAt: row.lastPolledAt,
    invited: !invitation?.revokedAt,
    session: deviceSession && { generation: deviceSession.generation, revoked: deviceSession.revokedAt !== null },
  }
}
