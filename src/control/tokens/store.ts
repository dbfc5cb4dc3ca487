import type { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import type { Role } from '../../kernel/caller.ts'
import type { DeviceSessionState } from './rules.ts'

/** A signed-in device with whom it belongs to. */
export type DeviceSession = DeviceSessionState & {
  readonly id: string
  readonly salt: Uint8Array
  readonly accountId: string
  readonly email: string
  readonly organization: string
  readonly team: string
  readonly role: Role
  readonly deviceId: string
}

export type NewDeviceSession = {
  readonly loginId: string | null
  readonly invitationId: string
  readonly deviceId: string
  readonly deviceName: string
  readonly salt: Uint8Array<ArrayBuffer>
  readonly createdAt: Date
  readonly lastSeenAt: Date
  readonly lastIp: string
  readonly idleExpiresAt: Date
  readonly absoluteExpiresAt: Date
}

export type RevokeReason = 'logout' | 'replaced' | 'refresh_reuse'

const WITH_PEOPLE = {
  invitation: { include: { account: true, team: { include: { organization: true } } } },
} as const satisfies Prisma.DeviceSessionInclude

type Row = Prisma.DeviceSessionGetPayload<{ include: typeof WITH_PEOPLE }>

export type DeviceSessionStore = ReturnType<typeof deviceSessionStore>

export function deviceSessionStore(db: PrismaClient) {
  return {
    /**
     * The session of a login: made by the first poll, found by every later one. Making it ends the account's other sessions of
     * the same device; those are named. Null when the invitation was withdrawn meanwhile.
     */
    async openForLogin(
      session: NewDeviceSession & { loginId: string },
      accountId: string,
    ): Promise<{ session: DeviceSession; replaced: string[] } | null> {
      return db.$transaction(async (tx) => {
        // One after the other for each account: polls of two logins, or a withdrawal, that arrive together.
        const invited = await tx.$queryRaw<{ id: string }[]>`
          SELECT i.id FROM invitations i JOIN accounts a ON a.id = i.account_id
          WHERE i.id = ${session.invitationId}::uuid AND i.revoked_at IS NULL FOR UPDATE`
        if (invited.length === 0) return null
        const { count } = await tx.deviceSession.createMany({ data: [session], skipDuplicates: true })
        const row = await tx.deviceSession.findUniqueOrThrow({
          where: { loginId: session.loginId },
          include: WITH_PEOPLE,
        })
        if (count === 0) return { session: toSession(row), replaced: [] }

        await tx.deviceLogin.updateMany({ where: { id: session.loginId }, data: { userCode: null } })
        const replaced = await tx.deviceSession.updateManyAndReturn({
          where: { id: { not: row.id }, deviceId: session.deviceId, revokedAt: null, invitation: { accountId } },
          data: { revokedAt: session.createdAt, revokedReason: 'replaced' satisfies RevokeReason },
          select: { id: true },
        })
        await tx.auditEvent.create({
          data: {
            at: session.createdAt,
            kind: 'device_session.opened',
            accountId,
            teamId: row.invitation.teamId,
            subjectId: row.id,
            ip: session.lastIp,
            details: { deviceId: session.deviceId, loginId: session.loginId },
          },
        })
        return { session: toSession(row), replaced: replaced.map(({ id }) => id) }
      })
    },

    async find(id: string): Promise<DeviceSession | null> {
      const row = await db.deviceSession.findUnique({ where: { id }, include: WITH_PEOPLE })
      return row && toSession(row)
    },

    /**
     * Moves the family on from a generation; false when somebody else did, or it has ended. In a transaction of its own, because a lone
     * statement that a hanging server has received may still take effect long after the caller was told that it failed.
     */
    async rotate(
      id: string,
      generation: number,
      next: { rotatedAt: Date; lastSeenAt: Date; lastIp: string; idleExpiresAt: Date; clientFingerprint: string },
    ): Promise<boolean> {
      return db.$transaction(async (tx) => {
        const { count } = await tx.deviceSession.updateMany({
          where: { id, generation, revokedAt: null, invitation: { revokedAt: null } },
          data: { generation: generation + 1, ...next },
        })
        return count === 1
      })
    },

    /** Ends a session, once, with its audit row. False when it had ended before. */
    async revoke(id: string, reason: RevokeReason, now: Date, ip: string): Promise<boolean> {
      return db.$transaction(async (tx) => {
        const { count } = await tx.deviceSession.updateMany({
          where: { id, revokedAt: null },
          data: { revokedAt: now, revokedReason: reason },
        })
        if (count === 0) return false
        const { invitation } = await tx.deviceSession.findUniqueOrThrow({ where: { id }, select: { invitation: true } })
        await tx.auditEvent.create({
          data: {
            at: now,
            kind: 'device_session.revoked',
            accountId: invitation.accountId,
            teamId: invitation.teamId,
            subjectId: id,
            ip,
            details: { reason },
          },
        })
        return true
      })
    },
  }
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
    team: `@${organization}/${invitation.team.name}`,
    role: invitation.role,
    deviceId: row.deviceId,
    generation: row.generation,
    rotatedAt: row.rotatedAt,
    clientFingerprint: row.clientFingerprint,
    idleExpiresAt: row.idleExpiresAt,
    absoluteExpiresAt: row.absoluteExpiresAt,
    revoked: row.revokedAt !== null || invitation.revokedAt !== null,
  }
}
