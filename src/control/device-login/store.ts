import { Prisma } from '../../../generated/prisma/client.ts'
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { addMs } from '../../kernel/clock.ts'
import type { SecretHash } from '../../kernel/secret.ts'
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
  readonly invitationId: string
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
}

/** A login, found by one of its links. */
export type LinkedLogin = FoundLogin & { readonly link: LinkKind; readonly usedAt: Date | null }

/** Who decides a login, and how. `sessionId` is null when the mail alone decides. */
export type Decision = {
  readonly via: 'mail' | 'session' | 'user_code'
  readonly sessionId: string | null
  readonly ip: string
}

/** More live logins of one account than this are somebody who bombs a mailbox. */
const MOST_LIVE_LOGINS = 10

const WITH_PEOPLE = {
  invitation: { include: { account: true, team: { include: { organization: true } } } },
  deviceSession: { select: { generation: true, revokedAt: true } },
} as const satisfies Prisma.DeviceLoginInclude

type Row = Prisma.DeviceLoginGetPayload<{ include: typeof WITH_PEOPLE }>
type Where = Prisma.DeviceLoginWhereInput
type Changes = Prisma.DeviceLoginUpdateManyMutationInput & { approverSessionId?: string | null }

export type DeviceLoginStore = ReturnType<typeof deviceLoginStore>

export function deviceLoginStore(db: PrismaClient) {
  /** True for exactly one caller, however many arrive together; with its audit row, or not at all. */
  async function decideOnce(
    login: FoundLogin,
    where: Where,
    changes: Changes,
    audit: { kind: string; at: Date } & Decision,
    browserSession: NewBrowserSession | null = null,
  ): Promise<boolean> {
    return db.$transaction(async (tx) => {
      const { count } = await tx.deviceLogin.updateMany({ where: { id: login.id, ...where }, data: changes })
      if (count === 0) return false
      if (browserSession) await tx.browserSession.create({ data: browserSession })
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
        team: `@${row.team.organization.name}/${row.team.name}`,
      }
    },

    /** Keeps a new login and cancels the account's oldest beyond the bound. False when the user code is taken by another live login. */
    async create(login: NewDeviceLogin, accountId: string): Promise<string | null> {
      try {
        return await db.$transaction(async (tx) => {
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
          const surplus = await tx.deviceLogin.findMany({
            where: { status: 'pending', expiresAt: { gt: login.createdAt }, invitation: { accountId } },
            orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
            skip: MOST_LIVE_LOGINS,
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
      return toLogin(await db.deviceLogin.findUniqueOrThrow({ where: { id }, include: WITH_PEOPLE }))
    },

    async findByDeviceCode(hash: SecretHash): Promise<FoundLogin | null> {
      const row = await db.deviceLogin.findUnique({ where: { deviceCodeHash: hash }, include: WITH_PEOPLE })
      return row && toLogin(row)
    },

    async findByLink(hash: SecretHash): Promise<LinkedLogin | null> {
      const row = await db.deviceLogin.findFirst({
        where: { OR: [{ mailTokenHash: hash }, { handleTokenHash: hash }] },
        include: WITH_PEOPLE,
      })
      if (!row) return null
      return row.mailTokenHash === hash
        ? { ...toLogin(row), link: 'mail', usedAt: row.mailUsedAt }
        : { ...toLogin(row), link: 'handle', usedAt: row.handleUsedAt }
    },

    /** A login of this account by its user code; somebody else's is as unknown as one that does not exist. */
    async findByUserCode(userCode: string, accountId: string): Promise<FoundLogin | null> {
      const row = await db.deviceLogin.findFirst({
        where: { userCode, invitation: { accountId } },
        include: WITH_PEOPLE,
      })
      return row && toLogin(row)
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
      browserSession: NewBrowserSession | null,
    ): Promise<boolean> {
      const unused = login.link === 'mail' ? { mailUsedAt: null } : { handleUsedAt: null }
      const used = login.link === 'mail' ? { mailUsedAt: now } : { handleUsedAt: now }
      const first = login.approvedAt
        ? {}
        : {
            approvedAt: now,
            approvedVia: decision.via,
            ...(decision.sessionId && { approverSessionId: decision.sessionId }),
          }
      return decideOnce(
        login,
        { ...unused, status: { in: ['pending', 'approved'] }, expiresAt: { gt: now } },
        { ...used, status: 'approved', ...first },
        { kind: 'device_login.approved', at: now, ...decision },
        browserSession,
      )
    },

    async approveByCode(login: FoundLogin, now: Date, decision: Decision): Promise<boolean> {
      return decideOnce(
        login,
        { status: 'pending', expiresAt: { gt: now } },
        {
          status: 'approved',
          approvedAt: now,
          approvedVia: decision.via,
          ...(decision.sessionId && { approverSessionId: decision.sessionId }),
        },
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

function toLogin(row: Row): FoundLogin {
  const { invitation, deviceSession } = row
  const organization = invitation.team.organization.name
  return {
    id: row.id,
    invitationId: row.invitationId,
    accountId: invitation.accountId,
    email: invitation.account.email,
    organization,
    team: `@${organization}/${invitation.team.name}`,
    deviceId: row.deviceId,
    deviceName: row.deviceName,
    userCode: row.userCode,
    startIp: row.startIp,
    createdAt: row.createdAt,
    status: row.status,
    expiresAt: row.expiresAt,
    approvedAt: row.approvedAt,
    lastPolledAt: row.lastPolledAt,
    invited: invitation.revokedAt === null,
    session: deviceSession && { generation: deviceSession.generation, revoked: deviceSession.revokedAt !== null },
  }
}
