import type { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import type { Role } from '../../kernel/caller.ts'
import { withRetry } from '../../database/errors.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import { toRevokedEvents } from '../audit/ended-sessions.ts'
import { saveBrowserSession } from '../browser-session/store.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import { pickReplaced } from './rules.ts'
import type { DeviceSessionState } from './rules.ts'

/** A signed-in device, with its account and team. */
export type DeviceSession = DeviceSessionState & {
  readonly id: string
  readonly salt: Uint8Array
  readonly accountId: string
  readonly email: string
  readonly organization: string
  readonly team: string
  readonly role: Role
  readonly deviceId: string
  readonly deviceName: string
  /** The OAuth client that signed in; null when it named none. */
  readonly clientId: string | null
}

export type NewDeviceSession = {
  readonly loginId: string | null
  readonly invitationId: string
  readonly deviceId: string
  readonly deviceName: string
  /** Whether it is a browser, whose tokens are in cookies. */
  readonly isBrowser: boolean
  readonly clientId: string | null
  readonly salt: Uint8Array<ArrayBuffer>
  readonly createdAt: Date
  readonly lastSeenAt: Date
  readonly lastIp: string
  readonly idleExpiresAt: Date
  readonly absoluteExpiresAt: Date
}

export type RevokeReason =
  'logout' | 'replaced' | 'surplus' | 'refresh_reuse' | 'signed_out' | 'signed_out_everywhere' | 'signed_out_by_admin'

const WITH_PEOPLE = {
  invitation: { include: { account: true, team: { include: { organization: true } } } },
} as const satisfies Prisma.DeviceSessionInclude

type Row = Prisma.DeviceSessionGetPayload<{ include: typeof WITH_PEOPLE }>

export type DeviceSessionStore = ReturnType<typeof makeDeviceSessionStore>

/** The rows of device sessions. A transaction that conflicts with another one is repeated. */
export function makeDeviceSessionStore(db: PrismaClient) {
  const inTransaction = <T>(run: (tx: Prisma.TransactionClient) => Promise<T>) => withRetry(() => db.$transaction(run))

  return {
    /**
     * Opens the session of a device. A login has one session: the first poll makes it, every later poll finds it.
     * Making it ends the account's other sessions of the same device and those beyond `MAX_DEVICES`; `replaced` has
     * their ids. `tookNotice`: the process that made the session has not taken the notice, and this call has.
     * `not_invited` and `expired` say that the invitation was withdrawn or the login cancelled in the meantime.
     */
    async open(
      session: NewDeviceSession,
      accountId: string,
      approvedVia: string,
      browser: SignedInBrowser | null,
    ): Promise<
      { session: DeviceSession; isNew: boolean; tookNotice: boolean; replaced: string[] } | 'not_invited' | 'expired'
    > {
      return inTransaction(async (tx) => {
        // This lock serialises concurrent polls of one account, and a withdrawal. FOR UPDATE would also wait for an
        // approval, because its new browser session references the invitation; the approval may wait for this login's
        // row, which would be a deadlock.
        const invited = await tx.$queryRaw<{ id: string }[]>`
          SELECT i.id FROM invitations i JOIN accounts a ON a.id = i.account_id
          WHERE i.id = ${session.invitationId}::uuid AND i.revoked_at IS NULL FOR NO KEY UPDATE`
        if (invited.length === 0) return 'not_invited'
        if (session.loginId && !(await redeem(tx, session.loginId))) return 'expired'
        const [made] = await tx.deviceSession.createManyAndReturn({
          data: [session],
          skipDuplicates: true,
          select: { id: true },
        })
        const row = await tx.deviceSession.findFirstOrThrow({
          where: made ?? { loginId: session.loginId },
          include: WITH_PEOPLE,
        })
        if (!made) {
          // In this transaction, because concurrent polls would otherwise all queue for a connection a second time.
          const tookNotice = row.noticeTakenAt === null && (await takeNotice(tx, row.id, session.createdAt))
          return { session: toSession(row), isNew: false, tookNotice, replaced: [] }
        }

        const { id: subjectId, deviceId, createdAt: at, lastIp: ip } = row
        if (browser) await saveBrowserSession(tx, withDevice(browser, row.id), accountId, at, ip)
        const opened = { at, accountId, teamId: row.invitation.teamId, subjectId, ip }
        await tx.auditEvent.create({
          data: {
            ...opened,
            kind: 'device_session.opened',
            details: { deviceId, via: approvedVia, loginId: session.loginId },
          },
        })
        const replaced = await endReplaced(tx, row, accountId)
        return { session: toSession(row), isNew: true, tookNotice: false, replaced }
      })
    },

    /**
     * True for exactly one caller, which then tells the owner of the session by email. False once the session has
     * ended.
     */
    takeNotice: (id: string, now: Date): Promise<boolean> => takeNotice(db, id, now),

    async find(id: string): Promise<DeviceSession | null> {
      const row = await db.deviceSession.findUnique({ where: { id }, include: WITH_PEOPLE })
      return row && toSession(row)
    },

    /**
     * Moves a session on from a generation; false when another refresh did, or when the session has ended. It runs in a
     * transaction, because a single statement that a hanging server has received may still take effect long after the
     * caller saw it fail.
     */
    async rotate(
      id: string,
      generation: number,
      next: { rotatedAt: Date; lastSeenAt: Date; lastIp: string; idleExpiresAt: Date; clientFingerprint: string },
    ): Promise<boolean> {
      return inTransaction(async (tx) => {
        const { count } = await tx.deviceSession.updateMany({
          where: { id, generation, revokedAt: null, invitation: { revokedAt: null } },
          data: { generation: generation + 1, ...next },
        })
        return count === 1
      })
    },

    /** Ends a session with its audit row; false when it had ended before. */
    async revoke(id: string, reason: RevokeReason, now: Date, ip: string): Promise<boolean> {
      const ended = await inTransaction((tx) => endSessions(tx, { id }, reason, now, ip))
      return ended.length === 1
    },
  }
}

async function takeNotice(tx: Prisma.TransactionClient, id: string, now: Date): Promise<boolean> {
  const { count } = await tx.deviceSession.updateMany({
    where: { id, noticeTakenAt: null, revokedAt: null },
    data: { noticeTakenAt: now },
  })
  return count === 1
}

/** Frees the user code of an approved login for other logins; false when the login is not approved any more. */
async function redeem(tx: Prisma.TransactionClient, loginId: string): Promise<boolean> {
  const { count } = await tx.deviceLogin.updateMany({
    where: { id: loginId, status: 'approved' },
    data: { userCode: null },
  })
  return count === 1
}

function withDevice({ session, replaces }: SignedInBrowser, deviceSessionId: string): SignedInBrowser {
  return { session: { ...session, deviceSessionId }, replaces }
}

/** Ends the sessions that a new session replaces, each with its audit row. Returns their ids. */
async function endReplaced(tx: Prisma.TransactionClient, made: Row, accountId: string): Promise<string[]> {
  const live = await tx.deviceSession.findMany({
    where: {
      id: { not: made.id },
      revokedAt: null,
      invitation: { accountId },
      OR: [{ deviceId: made.deviceId }, { idleExpiresAt: { gt: made.createdAt } }],
    },
    select: { id: true, deviceId: true, lastSeenAt: true },
  })
  const { replaced, surplus } = pickReplaced(live, made.deviceId)
  const end = (ids: readonly string[], reason: RevokeReason) =>
    ids.length === 0 ? [] : endSessions(tx, { id: { in: [...ids] } }, reason, made.createdAt, made.lastIp)
  return [...(await end(replaced, 'replaced')), ...(await end(surplus, 'surplus'))]
}

/**
 * Ends live device sessions, the browser sessions that depend on them, and writes an audit row for each. `adminId`: the
 * admin who did it for another person. Returns the ids of the device sessions.
 */
export async function endSessions(
  tx: Prisma.TransactionClient,
  where: Prisma.DeviceSessionWhereInput,
  reason: RevokeReason,
  now: Date,
  ip: string,
  adminId?: string,
): Promise<string[]> {
  const ended = { revokedAt: now, revokedReason: reason }
  const rows = await tx.deviceSession.updateManyAndReturn({
    where: { AND: [where, { revokedAt: null }] },
    data: ended,
    select: { id: true, invitation: { select: { accountId: true, teamId: true } } },
  })
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  await tx.browserSession.updateMany({ where: { deviceSessionId: { in: ids }, revokedAt: null }, data: ended })
  const events = toRevokedEvents('device_session.revoked', rows, { at: now, reason, ip, adminId })
  await tx.auditEvent.createMany({ data: events })
  return ids
}

function toSession(row: Row): DeviceSession {
  const { invitation } = row
  const organization = invitation.team.organization.name
  return {
    id: row.id,
    salt: row.salt,
    accountId: invitation.accountId,
    email: invitation.account.email,
    organization,
    team: formatTeamName({ organization, name: invitation.team.name }),
    role: invitation.role,
    deviceId: row.deviceId,
    deviceName: row.deviceName,
    clientId: row.clientId,
    generation: row.generation,
    rotatedAt: row.rotatedAt,
    clientFingerprint: row.clientFingerprint,
    idleExpiresAt: row.idleExpiresAt,
    absoluteExpiresAt: row.absoluteExpiresAt,
    revoked: row.revokedAt !== null || invitation.revokedAt !== null,
  }
}
